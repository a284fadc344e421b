// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plugin under test, an image for it, memory of its first device. Each run of conformance_tests gets
//
//   CONFORMANCE_PLUGIN        the plugin's file
//   CONFORMANCE_IMAGE         an image for it, of support/images/conformance.c or what does the same
//   CONFORMANCE_IN_FLIGHT     how many operations of different streams it runs at once
//   CONFORMANCE_KNOWS_EVENTS  set where it finds out which events are released, or not its own
//   CONFORMANCE_LOST_BY_FORK  set where no device works in a child of fork() whose parent had used it
//   CONFORMANCE_EXIT_WAITS    set where its driver lets no process end whose kernels run, or start one in its place
#pragma once

#include "omptarget_rtl.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

inline std::string told(const char* variable) {
  const char* const value = std::getenv(variable);
  REQUIRE_MESSAGE(value, variable << " is not set: ctest runs this program");
  return value;
}

inline void* plugin() {
  static void* const handle = ::dlopen(told("CONFORMANCE_PLUGIN").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(handle, ::dlerror());
  return handle;
}

// A function of the plugin, under its own type; null where an optional one is not there.
template <typename Function> Function find(const char* name) {
  return reinterpret_cast<Function>(::dlsym(plugin(), name));
}
template <typename Function> Function need(const char* name, const char* other = nullptr) {
  Function found = find<Function>(name);
  if (!found && other)
    found = find<Function>(other);
  const bool is_there = found != nullptr; // doctest shows no functions
  REQUIRE_MESSAGE(is_there, "the plugin lacks " << name);
  return found;
}
#define RTL(name) need<decltype(&name)>(#name)

inline std::int32_t init_device(std::int32_t device) {
  return need<decltype(&__tgt_init_device)>("__tgt_init_device", "__tgt_rtl_init_device")(device);
}

inline const std::vector<char>& image_bytes() {
  static const std::vector<char> bytes = [] {
    std::ifstream file(told("CONFORMANCE_IMAGE"), std::ios::binary);
    return std::vector<char>(std::istreambuf_iterator<char>(file), {});
  }();
  REQUIRE(!bytes.empty());
  return bytes;
}

// Entry of the host's table, in another order than the image's own; `absent` is not in the image.
enum Entry : std::size_t {
  kAdd,
  kAbsent,
  kCounter,
  kNothing,
  kAddToCounter,
  kStoreSeven,
  kCountCalls,
  kHold,
  kMeet,
  kNote,
  kEntries
};

// An image as a library registers it, and its table once it is loaded.
class Image {
public:
  explicit Image(std::vector<char> bytes = image_bytes()) : bytes_(std::move(bytes)) {
    const char* const names[kEntries] = {"add",         "absent",      "counter", "nothing", "add_to_counter",
                                         "store_seven", "count_calls", "hold",    "meet",    "note"};
    for (std::size_t i = 0; i < kEntries; ++i)
      entries_[i] = {&hosts_[i], const_cast<char*>(names[i]), i == kCounter ? std::int64_t{sizeof(int)} : 0};
    record_ = {bytes_.data(), bytes_.data() + bytes_.size(), entries_.data(), entries_.data() + kEntries};
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  bool is_valid() { return RTL(__tgt_rtl_is_valid_binary)(&record_) != 0; }
  tgt_target_table* load(std::int32_t device) { return table_ = RTL(__tgt_rtl_load_binary)(device, &record_); }
  void unload() {
    CHECK(RTL(__tgt_rtl_unload_binary)(0, &record_) == 0);
    table_ = nullptr;
  }
  bool is_loaded() const { return table_ != nullptr; }
  void* operator[](Entry entry) const { return table_->EntriesBegin[entry].addr; }
  __tgt_device_image* record() { return &record_; }

private:
  std::vector<char> bytes_;
  std::array<char, kEntries> hosts_{}; // addresses that stand for the host versions
  std::array<__tgt_offload_entry, kEntries> entries_{};
  __tgt_device_image record_{};
  tgt_target_table* table_ = nullptr;
};

// An image that stays: the plugin may look at it as long as it is loaded.
inline Image& lasting_image() {
  static std::vector<std::unique_ptr<Image>>& all = *new std::vector<std::unique_ptr<Image>>;
  return *all.emplace_back(std::make_unique<Image>());
}

// The image, loaded on device 0, for the tests that only run something.
inline Image& loaded() {
  static Image& image = lasting_image();
  static const bool is_loaded = init_device(0) == 0 && image.load(0);
  REQUIRE(is_loaded);
  return image;
}

inline std::int32_t submit(void* target, const void* host, std::size_t size, std::int32_t device = 0) {
  return RTL(__tgt_rtl_data_submit)(device, target, const_cast<void*>(host), static_cast<std::int64_t>(size));
}
inline std::int32_t retrieve(void* host, void* target, std::size_t size, std::int32_t device = 0) {
  return RTL(__tgt_rtl_data_retrieve)(device, host, target, static_cast<std::int64_t>(size));
}

// Memory of a device.
class Memory {
public:
  explicit Memory(std::size_t size, std::int32_t device = 0)
      : device_(device), target_(RTL(__tgt_rtl_data_alloc)(device, static_cast<std::int64_t>(size))) {
    REQUIRE(target_);
  }
  template <typename T>
  explicit Memory(const std::vector<T>& values, std::int32_t device = 0) : Memory(values.size() * sizeof(T), device) {
    REQUIRE(submit(target_, values.data(), values.size() * sizeof(T), device) == 0);
  }
  ~Memory() { CHECK(RTL(__tgt_rtl_data_delete)(device_, target_) == 0); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* at(std::size_t offset = 0) const { return static_cast<char*>(target_) + offset; }
  template <typename T> std::vector<T> values(std::size_t count) const {
    std::vector<T> values(count);
    REQUIRE(retrieve(values.data(), target_, count * sizeof(T), device_) == 0);
    return values;
  }

private:
  std::int32_t device_;
  void* target_;
};

inline void* bits(std::int64_t value) {
  return reinterpret_cast<void*>(value);
}
inline std::int32_t run(Entry entry, std::vector<void*> arguments, std::int32_t device = 0) {
  return RTL(__tgt_rtl_run_target_region)(device, loaded()[entry], arguments.data(),
                                          static_cast<std::int32_t>(arguments.size()));
}
inline int counter_of(const Image& image) {
  int value = 0;
  CHECK(retrieve(&value, image[kCounter], sizeof value) == 0);
  return value;
}

inline std::int32_t device_count() {
  return RTL(__tgt_rtl_number_of_devices)();
}
// Numbers of devices that are not there.
inline std::vector<std::int32_t> wrong_devices() {
  return {-1, device_count(), INT32_MAX, INT32_MIN};
}

// Checks the last reason: a plugin that reports reasons does so in one line, with `part` in it.
inline void check_reason(const char* part = "") {
  if (const auto last_error = find<decltype(&__tgt_rtl_last_error)>("__tgt_rtl_last_error")) {
    const char* const reason = last_error();
    REQUIRE(reason);
    CHECK(*reason);
    CHECK(!std::strchr(reason, '\n'));
    CHECK(std::strstr(reason, part));
  }
}

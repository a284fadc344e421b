// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls and records of clang's programs, made by hand: symbol version VERS1.0, 64-bit map types.
#pragma once

#include "support.h"

#include <cstring>
#include <string>
#include <vector>

namespace llvm_abi {

enum Type : std::int64_t {
  kTo = 0x1,
  kFrom = 0x2,
  kTofrom = 0x3,
  kAlways = 0x4,
  kDelete = 0x8,
  kPointerAndObject = 0x10,
  kParameter = 0x20,
  kReturn = 0x40,
  kPrivate = 0x80,
  kLiteral = 0x100,
  kImplicit = 0x200,
  kPresent = 0x1000,
  kHold = 0x2000,
  kAttach = 0x4000,
  kNullify = 0x8000,
  kNonContiguous = 0x100000000000,
  kMemberOfFirst = std::int64_t{1} << 48,
};

struct Element {
  void *base, *begin;
  std::int64_t size, type;
  void* mapper = nullptr;
};
template <typename T> Element element(T& object, std::int64_t type) {
  return {&object, &object, sizeof object, type};
}
Element literal(std::uintptr_t value);

// Returns the function of that version, or aborts if there is none.
void* versioned(const char* name);
// Version of the kernel arguments whose last element stands for the launch environment; launch() adds that element.
constexpr std::uint32_t kLastEnvironment = 5;
std::int32_t launch(void* region, const std::vector<Element>& elements, std::uint32_t version = 1,
                    const char* name = "__tgt_target_kernel");
// Launches a region as launch() does, whatever the version, and adds no environment.
std::int32_t launch_as_it_is(void* region, const std::vector<Element>& elements, std::uint32_t version);
// A region with `nowait`, as clang 16 and 17 have it.
std::int32_t launch_nowait(void* region, const std::vector<Element>& elements);
// The numbers of teams and threads in a call of __tgt_target_kernel: in its record from version 2 on, and beside it.
struct Numbers {
  std::uint64_t trip_count = 0, flags = 0;
  std::uint32_t teams[3]{}, threads[3]{}, dynamic_memory = 0;
  std::int32_t num_teams = -1, thread_limit = 0;
};
std::int32_t launch(void* region, std::uint32_t version, const Numbers& numbers);
// Calls a data function without a result: __tgt_target_data_*_mapper. Returns the bases as the call leaves them.
std::vector<void*> data(const char* name, const std::vector<Element>& elements);
void register_library(void* descriptor);
void unregister_library(void* descriptor);

struct Record32 {
  void* address;
  const char* name;
  std::uint64_t size;
  std::uint32_t flags, data;
};
struct Record56 {
  std::uint64_t reserved = 0;
  std::uint16_t version = 1, kind = 1;
  std::uint32_t flags = 0;
  void* address;
  const char* name;
  std::uint64_t size, data = 0;
  void* auxiliary = nullptr;
};

enum class Wrapping { kRaw, kOffloadBinary };
// Returns the image wrapped as by clang 15 to 17.
std::vector<char> wrapped(const std::vector<char>& image);

// Library with an image, registered as clang's linker wrapper does, for the object's lifetime.
template <typename Record> class Library {
public:
  Library(std::vector<char> image, const std::vector<Program::Entry>& entries, Wrapping wrapping = Wrapping::kRaw)
      : image_(wrapping == Wrapping::kRaw ? std::move(image) : wrapped(image)) {
    for (const Program::Entry& entry : entries) {
      Record record{};
      record.address = entry.address;
      record.name = entry.name;
      record.size = static_cast<std::uint64_t>(entry.size);
      records_.push_back(record);
    }
    record_ = {image_.data(), image_.data() + image_.size(), nullptr, nullptr};
    descriptor_ = {1, &record_, records_.data(), records_.data() + records_.size()};
    register_library(&descriptor_);
  }
  ~Library() { unregister_library(&descriptor_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

private:
  std::vector<char> image_;
  std::vector<Record> records_;
  __tgt_device_image record_{};
  struct {
    std::int32_t images;
    __tgt_device_image* image;
    void *first, *last;
  } descriptor_{};
};
template <typename Record> Library<Record> main_library(Wrapping wrapping = Wrapping::kRaw) {
  return {image_file("main"), main_entries(), wrapping};
}

} // namespace llvm_abi

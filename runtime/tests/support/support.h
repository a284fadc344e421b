// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the tests of the exported calls: programs that register images, and argument arrays.
#pragma once

#include "omptarget.h"
#include "scenario.h"

// Programs are some twenty times slower with sanitizers: tests that start hundreds take a sample there.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
// ThreadSanitizer sees little in what one thread does alone: long sweeps of that are short there.
#if __has_feature(thread_sanitizer)
#define RACES_ARE_SOUGHT
#endif
#endif

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

// Short names for the types of a test's rows.
inline constexpr std::int32_t TO = OMP_TGT_MAPTYPE_TO, FROM = OMP_TGT_MAPTYPE_FROM, TOFROM = TO | FROM,
                              ALWAYS = OMP_TGT_MAPTYPE_ALWAYS, DELETE = OMP_TGT_MAPTYPE_DELETE,
                              PTR = OMP_TGT_MAPTYPE_MAP_PTR, REF = OMP_TGT_MAPTYPE_FIRST_REF,
                              RETURN = OMP_TGT_MAPTYPE_RETURN_PTR, PRIVATE = OMP_TGT_MAPTYPE_PRIVATE_PTR,
                              VALUE = OMP_TGT_MAPTYPE_PRIVATE_VAL;

struct Row {
  void* base;
  void* begin;
  std::int64_t size;
  std::int32_t type;
};
template <typename T> Row row(T& object, std::int32_t type) {
  return {&object, &object, sizeof object, type};
}
inline Row value(std::uintptr_t bits) {
  return {reinterpret_cast<void*>(bits), nullptr, 0, VALUE};
}

// Rows: the argument arrays of one call.
class Rows {
public:
  Rows(std::initializer_list<Row> rows);
  std::int32_t region(void* host, std::int32_t device = -1);
  std::int32_t teams(void* host, std::int32_t num_teams, std::int32_t thread_limit, std::int32_t device = -1);
  void begin(std::int32_t device = -1);
  void end(std::int32_t device = -1);
  void update(std::int32_t device = -1);
  // Calls region and data functions asynchronously. They store their result in `result` and return their event.
  tgt_event_t region_later(void* host, const std::vector<tgt_event_t>& after = {}, std::int32_t device = -1,
                           tgt_callback_param_t param = nullptr, std::int32_t* result = nullptr);
  tgt_event_t begin_later(const std::vector<tgt_event_t>& after = {}, std::int32_t device = -1,
                          tgt_callback_param_t param = nullptr);
  tgt_event_t end_later(const std::vector<tgt_event_t>& after = {}, std::int32_t device = -1,
                        tgt_callback_param_t param = nullptr);
  tgt_event_t update_later(const std::vector<tgt_event_t>& after = {}, std::int32_t device = -1,
                           tgt_callback_param_t param = nullptr);
  void* base(std::size_t index) const { return base_[index]; }

private:
  using DataCall = decltype(__tgt_target_async_data_begin);
  tgt_event_t later(DataCall call, const std::vector<tgt_event_t>& after, std::int32_t device,
                    tgt_callback_param_t param);
  std::int32_t count() const { return static_cast<std::int32_t>(base_.size()); }
  std::vector<void*> base_, begin_;
  std::vector<std::int64_t> size_;
  std::vector<std::int32_t> type_;
};

// Program: a library with images and an entry table, registered for the object's lifetime.
class Program {
public:
  struct Entry {
    void* address;
    const char* name;
    std::int64_t size = 0;
  };
  Program(std::vector<std::vector<char>> images, const std::vector<Entry>& entries);
  ~Program() { __tgt_unregister_lib(&descriptor); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  __tgt_bin_desc descriptor{};

private:
  std::vector<std::vector<char>> images_;
  std::vector<__tgt_offload_entry> entries_;
  std::vector<__tgt_device_image> records_;
};

// Returns whether the tests run over the queue of the CPU device.
bool over_queues();

// The host's side of images/main.c.
namespace host {
extern int counter;
extern void* seen[24];
extern int order[16];
extern int order_length;
// Addresses that stand for the host versions.
extern char record, record1, record7, record20, add_one, add_one_by, add_ten, add_ten_later, add_second, call_host,
    count_up, meet, add_both, times_plus, add_counter, nothing, list_add_one, example, construct, team_square, hidden,
    other_add_hundred, absent;
} // namespace host
std::vector<Program::Entry> main_entries();
// Registers images/main.c for the whole process, once.
void use_main();

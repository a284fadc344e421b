// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the host plugin, with optional functions that the host plugin lacks or answers otherwise; what is asked of
// them is said on stderr.
//
//   FAKEWHOLE_MAKES_TEAMS=1   it says that compilers' kernels make their teams themselves
//   FAKEWHOLE_TAKES_SHAPE=1   it says that each kernel takes the shape of its call all the same
//   FAKEWHOLE_NOT_STARTED=1   it launches nothing in a shape
//   FAKEWHOLE_RESULT=N        what its functions for fills and copies return, without doing anything
//   FAKEWHOLE_COPIES=1        copies to and from the host are said, too
//   FAKEWHOLE_NO_MEMORY=1     it has no memory of any kind, and locks none
#include "forward.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace {

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value == '1';
}

void tell_copy(const char* function, int64_t size) {
  if (is_set("FAKEWHOLE_COPIES"))
    std::fprintf(stderr, "FAKE: %s %lld\n", function, static_cast<long long>(size));
}

// Returns whether the result is set, and nothing is to be done.
bool has_result(int32_t& result) {
  const char* const value = std::getenv("FAKEWHOLE_RESULT");
  result = value ? static_cast<int32_t>(std::atol(value)) : 0;
  return value != nullptr;
}

} // namespace

FAKE_EXPORT int32_t __tgt_rtl_data_submit(int32_t device, void* target, void* host, int64_t size) {
  tell_copy("submit", size);
  return HOST(__tgt_rtl_data_submit)(device, target, host, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t device, void* host, void* target, int64_t size) {
  tell_copy("retrieve", size);
  return HOST(__tgt_rtl_data_retrieve)(device, host, target, size);
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t device, void* entry, void** arguments, int32_t count,
                                                     int32_t teams, int32_t threads) {
  std::fprintf(stderr, "FAKE: %d teams of %d threads, without a shape\n", teams, threads);
  return HOST(__tgt_rtl_run_target_team_region)(device, entry, arguments, count, teams, threads);
}
FAKE_EXPORT const char* __tgt_rtl_last_error(void) {
  const char* const reason = HOST(__tgt_rtl_last_error)();
  return reason ? reason : "FAKE shape";
}

// Runs the kernel once: as what a compiler made for a CPU asks for.
FAKE_EXPORT int32_t __tgt_rtl_run_shaped(int32_t device, void* entry, void** arguments, int32_t count,
                                         const tgt_launch_shape* shape) {
  std::fprintf(stderr, "FAKE: size %u flags %u trip %llu dynamic %llu teams %u %u %u threads %u %u %u\n", shape->size,
               shape->flags, static_cast<unsigned long long>(shape->trip_count),
               static_cast<unsigned long long>(shape->dynamic_memory), shape->teams[0], shape->teams[1],
               shape->teams[2], shape->threads[0], shape->threads[1], shape->threads[2]);
  if (shape->dynamic_memory > UINT32_MAX) // the host's reason is a good one
    return HOST(__tgt_rtl_run_shaped)(device, entry, arguments, count, shape);
  const bool too_many = shape->teams[0] == UINT32_MAX;
  return too_many || is_set("FAKEWHOLE_NOT_STARTED")
             ? OMPTARGET_RTL_NOT_STARTED
             : HOST(__tgt_rtl_run_target_region)(device, entry, arguments, count);
}
FAKE_EXPORT int32_t __tgt_rtl_kernels_make_teams(int32_t) {
  return is_set("FAKEWHOLE_MAKES_TEAMS");
}
FAKE_EXPORT int32_t __tgt_rtl_takes_shape(int32_t, void*) {
  return is_set("FAKEWHOLE_TAKES_SHAPE");
}

// ---- memory ----

FAKE_EXPORT int32_t __tgt_rtl_data_fill(int32_t device, void* target, int32_t value, int64_t size) {
  std::fprintf(stderr, "FAKE: fill %lld with %d\n", static_cast<long long>(size), value);
  int32_t result = 0;
  return has_result(result) ? result : HOST(__tgt_rtl_data_fill)(device, target, value, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_exchange(int32_t from, void* source, int32_t to, void* target, int64_t size) {
  std::fprintf(stderr, "FAKE: exchange %lld from %d to %d\n", static_cast<long long>(size), from, to);
  int32_t result = 0;
  return has_result(result) ? result : HOST(__tgt_rtl_data_exchange)(from, source, to, target, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_copy_rectangle(int32_t from, void* source, int32_t to, void* target,
                                                  const tgt_rectangle* rectangle) {
  const auto number = [](uint64_t one) { return static_cast<unsigned long long>(one); };
  std::fprintf(stderr, "FAKE: rectangle %llu %llu %llu from %d at %llu %llu to %d at %llu %llu\n",
               number(rectangle->width), number(rectangle->rows), number(rectangle->planes), from,
               number(rectangle->source_row), number(rectangle->source_plane), to, number(rectangle->target_row),
               number(rectangle->target_plane));
  int32_t result = 0;
  return has_result(result) ? result : HOST(__tgt_rtl_data_copy_rectangle)(from, source, to, target, rectangle);
}
FAKE_EXPORT void* __tgt_rtl_memory_alloc(int32_t device, int64_t size, int32_t kind) {
  std::fprintf(stderr, "FAKE: %lld of kind %d\n", static_cast<long long>(size), kind);
  return is_set("FAKEWHOLE_NO_MEMORY") ? nullptr : HOST(__tgt_rtl_memory_alloc)(device, size, kind);
}
FAKE_EXPORT int32_t __tgt_rtl_memory_free(int32_t device, void* memory, int32_t kind) {
  std::fprintf(stderr, "FAKE: freed of kind %d\n", kind);
  return HOST(__tgt_rtl_memory_free)(device, memory, kind);
}
FAKE_EXPORT void* __tgt_rtl_host_lock(int32_t, void* host, int64_t size) {
  std::fprintf(stderr, "FAKE: lock %lld\n", static_cast<long long>(size));
  return is_set("FAKEWHOLE_NO_MEMORY") ? nullptr : host;
}
FAKE_EXPORT int32_t __tgt_rtl_host_unlock(int32_t, void*) {
  std::fprintf(stderr, "FAKE: unlock\n");
  return 0;
}
FAKE_EXPORT int32_t __tgt_rtl_describe_device(int32_t device, tgt_device_description* description) {
  tgt_device_description known{
      description->size, 7, uint64_t{3} << 30, 48 << 10, 1024, "fake_64", "", "Fakes 3", "FAKE", 0, "", ""};
  std::snprintf(known.name, sizeof known.name, "Fake %d", device);
  std::memcpy(description, &known, std::min<size_t>(known.size, sizeof known));
  return HOST(__tgt_init_device)(device);
}

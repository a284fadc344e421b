// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the host plugin as a GPU: the core goes through its queues, and each wait is counted. fakewaits.h has the
// counts for tests.
//
//   FAKEWAITS_ENFORCE=0   the host has to wait for what an operation comes after, for its queues cannot
#include "fakewaits.h"

#include "queued_calls.h"

#include <atomic>

namespace {

std::atomic<long> waits{0}, made{0}, released{0}, allocated{0}, deallocated{0};

std::int32_t queue(const Operation& operation) {
  const std::int32_t result = operation.forward();
  made += result == 0;
  return result;
}

} // namespace

FAKE_EXPORT void fakewaits_counts(FakeWaits* counts) {
  *counts = {waits, made, released, allocated, deallocated};
}

FAKE_EXPORT void __tgt_rtl_init_dep(tgt_callback_fct callback) {
  HOST(__tgt_rtl_init_dep)(callback);
}
FAKE_EXPORT int32_t __tgt_rtl_enforce_dep(int32_t from, int32_t to, tgt_event_t event) {
  const char* const enforce = std::getenv("FAKEWAITS_ENFORCE");
  return enforce && *enforce == '0' ? 0 : HOST(__tgt_rtl_enforce_dep)(from, to, event);
}
FAKE_EXPORT void __tgt_rtl_release_dep(tgt_event_t event) {
  ++released;
  HOST(__tgt_rtl_release_dep)(event);
}
FAKE_EXPORT int32_t __tgt_rtl_process_dep(void) {
  return HOST(__tgt_rtl_process_dep)();
}
FAKE_EXPORT int32_t __tgt_rtl_wait_event(tgt_event_t event) {
  ++waits;
  return HOST(__tgt_rtl_wait_event)(event);
}
FAKE_EXPORT int32_t __tgt_rtl_query_event(tgt_event_t event) {
  return HOST(__tgt_rtl_query_event)(event);
}

FAKE_EXPORT void* __tgt_rtl_data_alloc(int32_t device, int64_t size) {
  void* const memory = HOST(__tgt_rtl_data_alloc)(device, size);
  allocated += memory != nullptr;
  return memory;
}
FAKE_EXPORT int32_t __tgt_rtl_data_delete(int32_t device, void* target) {
  ++deallocated;
  return HOST(__tgt_rtl_data_delete)(device, target);
}
FAKE_EXPORT int32_t __tgt_rtl_data_submit(int32_t device, void* target, void* host, int64_t size) {
  ++waits;
  return HOST(__tgt_rtl_data_submit)(device, target, host, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t device, void* host, void* target, int64_t size) {
  ++waits;
  return HOST(__tgt_rtl_data_retrieve)(device, host, target, size);
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_region(int32_t device, void* entry, void** arguments, int32_t count) {
  ++waits;
  return HOST(__tgt_rtl_run_target_region)(device, entry, arguments, count);
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t device, void* entry, void** arguments, int32_t count,
                                                     int32_t teams, int32_t threads) {
  ++waits;
  return HOST(__tgt_rtl_run_target_team_region)(device, entry, arguments, count, teams, threads);
}
FAKE_EXPORT const char* __tgt_rtl_last_error(void) {
  return HOST(__tgt_rtl_last_error)();
}

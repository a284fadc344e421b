// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the host plugin, except that the FAKEFAIL_AT-th call that can fail does (counted from 1), or
// every call from there on with FAKEFAIL_ON=1; FAKEFAIL_IN=name counts the calls of one function only.
#include "forward.h"

#include <atomic>
#include <cstdio>
#include <cstring>

namespace {

long number_in(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::atol(value) : 0;
}

bool fails(const char* function) {
  static std::atomic<long> calls{0};
  static const long at = number_in("FAKEFAIL_AT");
  static const bool stay = number_in("FAKEFAIL_ON") != 0;
  static const char* const only = std::getenv("FAKEFAIL_IN");
  if (at == 0 || (only && std::strcmp(only, function) != 0))
    return false;
  const long call = ++calls;
  const bool failed = stay ? call >= at : call == at;
  if (failed)
    std::fprintf(stderr, "FAKE: call %ld, %s, fails\n", call, function);
  return failed;
}

} // namespace

FAKE_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return 1;
}
FAKE_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  return HOST(__tgt_rtl_is_valid_binary)(image);
}
FAKE_EXPORT int32_t __tgt_rtl_init_device(int32_t device) {
  return fails("init_device") ? 1 : HOST(__tgt_init_device)(device);
}
FAKE_EXPORT tgt_target_table* __tgt_rtl_load_binary(int32_t device, __tgt_device_image* image) {
  return fails("load_binary") ? nullptr : HOST(__tgt_rtl_load_binary)(device, image);
}
FAKE_EXPORT void* __tgt_rtl_data_alloc(int32_t device, int64_t size) {
  return fails("data_alloc") ? nullptr : HOST(__tgt_rtl_data_alloc)(device, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_submit(int32_t device, void* target, void* host, int64_t size) {
  return fails("data_submit") ? 1 : HOST(__tgt_rtl_data_submit)(device, target, host, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t device, void* host, void* target, int64_t size) {
  return fails("data_retrieve") ? 1 : HOST(__tgt_rtl_data_retrieve)(device, host, target, size);
}
FAKE_EXPORT int32_t __tgt_rtl_data_delete(int32_t device, void* target) {
  const int32_t result = HOST(__tgt_rtl_data_delete)(device, target); // LeakSanitizer watches
  return fails("data_delete") ? 1 : result;
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_region(int32_t device, void* entry, void** arguments, int32_t count) {
  return fails("run") ? 1 : HOST(__tgt_rtl_run_target_region)(device, entry, arguments, count);
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t device, void* entry, void** arguments, int32_t count,
                                                     int32_t teams, int32_t threads) {
  return fails("run") ? 1 : HOST(__tgt_rtl_run_target_team_region)(device, entry, arguments, count, teams, threads);
}
FAKE_EXPORT const char* __tgt_rtl_last_error(void) {
  return "FAKE failure";
}

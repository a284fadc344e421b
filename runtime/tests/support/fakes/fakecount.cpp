// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: a plugin whose driver is broken: it accepts every image and counts -3 devices.
#include "forward.h"

FAKE_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return -3;
}
FAKE_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image*) {
  return 1;
}
FAKE_EXPORT int32_t __tgt_init_device(int32_t) {
  return 1;
}
FAKE_EXPORT tgt_target_table* __tgt_rtl_load_binary(int32_t, __tgt_device_image*) {
  return nullptr;
}
FAKE_EXPORT void* __tgt_rtl_data_alloc(int32_t, int64_t) {
  return nullptr;
}
FAKE_EXPORT int32_t __tgt_rtl_data_submit(int32_t, void*, void*, int64_t) {
  return 1;
}
FAKE_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t, void*, void*, int64_t) {
  return 1;
}
FAKE_EXPORT int32_t __tgt_rtl_data_delete(int32_t, void*) {
  return 1;
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_region(int32_t, void*, void**, int32_t) {
  return 1;
}
FAKE_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t, void*, void**, int32_t, int32_t, int32_t) {
  return 1;
}

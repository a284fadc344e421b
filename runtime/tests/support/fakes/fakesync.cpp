// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the host plugin with the ten required functions and no other. They are weak, so that a fake which is built with
// this file, too, has only to define those that it changes.
//
//   FAKE_IMAGES=mark  it takes only images that end with the mark
#include "forward.h"

#include <string_view>

#define FAKE_DEFAULT FAKE_EXPORT __attribute__((weak))

FAKE_DEFAULT int32_t __tgt_rtl_number_of_devices(void) {
  return HOST(__tgt_rtl_number_of_devices)();
}
FAKE_DEFAULT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  const char* const mark = std::getenv("FAKE_IMAGES");
  const auto* const begin = static_cast<const char*>(image->ImageStart);
  const auto* const end = static_cast<const char*>(image->ImageEnd);
  return (!mark || std::string_view(begin, end).ends_with(mark)) && HOST(__tgt_rtl_is_valid_binary)(image);
}
FAKE_DEFAULT int32_t __tgt_init_device(int32_t device) {
  return HOST(__tgt_init_device)(device);
}
FAKE_DEFAULT tgt_target_table* __tgt_rtl_load_binary(int32_t device, __tgt_device_image* image) {
  return HOST(__tgt_rtl_load_binary)(device, image);
}
FAKE_DEFAULT void* __tgt_rtl_data_alloc(int32_t device, int64_t size) {
  return HOST(__tgt_rtl_data_alloc)(device, size);
}
FAKE_DEFAULT int32_t __tgt_rtl_data_submit(int32_t device, void* target, void* host, int64_t size) {
  return HOST(__tgt_rtl_data_submit)(device, target, host, size);
}
FAKE_DEFAULT int32_t __tgt_rtl_data_retrieve(int32_t device, void* host, void* target, int64_t size) {
  return HOST(__tgt_rtl_data_retrieve)(device, host, target, size);
}
FAKE_DEFAULT int32_t __tgt_rtl_data_delete(int32_t device, void* target) {
  return HOST(__tgt_rtl_data_delete)(device, target);
}
FAKE_DEFAULT int32_t __tgt_rtl_run_target_region(int32_t device, void* entry, void** arguments, int32_t count) {
  return HOST(__tgt_rtl_run_target_region)(device, entry, arguments, count);
}
FAKE_DEFAULT int32_t __tgt_rtl_run_target_team_region(int32_t device, void* entry, void** arguments, int32_t count,
                                                      int32_t teams, int32_t threads) {
  return HOST(__tgt_rtl_run_target_team_region)(device, entry, arguments, count, teams, threads);
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the host plugin over a driver that asks the runtime while it is itself being asked.
#include "forward.h"

extern "C" int omp_get_num_devices(void) __attribute__((weak));

namespace {
int ask() {
  return omp_get_num_devices ? omp_get_num_devices() : 0;
}
__attribute__((constructor)) void when_opened() {
  ask();
}
} // namespace

FAKE_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  ask();
  return 1;
}
FAKE_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  ask();
  return HOST(__tgt_rtl_is_valid_binary)(image);
}

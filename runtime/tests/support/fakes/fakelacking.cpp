// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: a plugin without most of the interface.
#include "forward.h"

FAKE_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return 1;
}
FAKE_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image*) {
  return 1;
}

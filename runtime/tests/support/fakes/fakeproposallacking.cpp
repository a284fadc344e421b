// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: a plugin of 2013 without most of its interface.
#include "libtarget_rtl.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT int __tgt_rtl_device_type(int) {
  return 62;
}
FAKE_EXPORT int __tgt_rtl_number_of_devices() {
  return 1;
}
FAKE_EXPORT void __tgt_init_device(int) {}

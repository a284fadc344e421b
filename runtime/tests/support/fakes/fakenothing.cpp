// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: a device that shares the host's memory in the way the document allows: its data functions
// take no action. It has the required functions only.
#include "forward.h"

FAKE_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return 1;
}
FAKE_EXPORT void* __tgt_rtl_data_alloc(int32_t, int64_t) {
  static char somewhere[64];
  return somewhere;
}
FAKE_EXPORT int32_t __tgt_rtl_data_submit(int32_t, void*, void*, int64_t) {
  return 0;
}
FAKE_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t, void*, void*, int64_t) {
  return 0;
}
FAKE_EXPORT int32_t __tgt_rtl_data_delete(int32_t, void*) {
  return 0;
}

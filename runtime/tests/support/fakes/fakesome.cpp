// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the host plugin with some of the asynchronous functions, which nobody calls.
#include "forward.h"

FAKE_EXPORT void __tgt_rtl_init_dep(tgt_callback_fct) {
  std::abort();
}
FAKE_EXPORT int32_t __tgt_rtl_process_dep(void) {
  std::abort();
}
FAKE_EXPORT int32_t __tgt_rtl_async_dep(int32_t, int32_t, tgt_event_t*, tgt_event_t*) {
  std::abort();
}
FAKE_EXPORT int32_t __tgt_rtl_wait_event(tgt_event_t) {
  std::abort();
}

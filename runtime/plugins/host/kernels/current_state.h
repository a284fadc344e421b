// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "thread_state.h"

namespace omptool::host {

// Current kernel of a thread, and the thread's place in it.
struct Current {
  omptool_thread_state state;
  const void* kernel; // its code; null: none
};

// Current state of this thread. It fits the space that the dynamic linker reserves for libraries opened later. It has
// no destructor, because exit handlers and signal handlers read it.
inline thread_local constinit Current current
    __attribute__((tls_model("initial-exec"))) = {{0, 1, 0, 1, 0, 0}, nullptr};

} // namespace omptool::host

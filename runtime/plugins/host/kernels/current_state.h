// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "thread_state.h"

namespace omptool::host {

// The kernel that a thread runs, and its place in it.
struct Current {
  omptool_thread_state state;
  const void* kernel; // its code; null: none
};

// State of the calling thread. Small enough for the room that the dynamic linker keeps for libraries that are opened
// later. Without a destructor: exit handlers and signal handlers look at it.
inline thread_local constinit Current current
    __attribute__((tls_model("initial-exec"))) = {{0, 1, 0, 1, 0, 0}, nullptr};

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "thread_state.h"

namespace omptool::host {

// What the calling thread runs. Small enough for the room that the dynamic linker keeps for libraries that are opened
// later.
inline thread_local constinit omptool_thread_state current_state
    __attribute__((tls_model("initial-exec"))) = {0, 1, 0, 1, 0};

} // namespace omptool::host

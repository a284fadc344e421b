// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTOOL_CHECK=FILE with a table of the full level, for `omptool run --check=full`: looks for mistakes in what kernels
// and the host do with memory.
#pragma once

#include "observe/memory_guard.h"

namespace omptool::check {

// Starts the full check, which listens from the first call on. `core`: an address in the code of the core.
void start_full(const void* core);

// Returns the guard of device objects, or null without the full level.
observe::MemoryGuard* memory_guard();

} // namespace omptool::check

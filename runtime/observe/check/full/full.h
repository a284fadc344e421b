// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTOOL_CHECK=FILE with a table of the full level, for `omptool run --check=full`: looks for mistakes in what kernels
// and the host do with memory.
#pragma once

#include "observe/memory_guard.h"

namespace omptool::check {

// Listens from the first call on. `core`: an address in the code of the core.
void start_full(const void* core);

// Returns the guard of the objects of devices; null: nobody asks for the full level.
observe::MemoryGuard* memory_guard();

} // namespace omptool::check

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTOOL_CHECK=FILE with a table of the full level, for `omptool run --check=full`: looks for mistakes in what kernels
// and the host do with memory.
#pragma once

#include <cstdint>

namespace omptool::check {

// Listens from the first call on.
void start_full();

// Returns whether the objects of a device are to be guarded, whose plugin says by `in_kernel` whether the calling
// thread is in a kernel; null: its kernels do not run here, or have no memory of their own.
bool guards(int device, std::int32_t (*in_kernel)());

} // namespace omptool::check

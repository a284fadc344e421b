// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::observe {

// With OMPTOOL_KERNEL_TIMEOUT, ends the program by a line that names the kernel which takes longer.
void watch_kernels();

} // namespace omptool::observe

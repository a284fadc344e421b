// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::observe {

// Watches kernels, and ends the program by a line that names the kernel which runs longer than that many seconds
// (OMPTOOL_KERNEL_TIMEOUT); 0: no limit. Listens from the first call on.
void watch_kernels(unsigned seconds);

} // namespace omptool::observe

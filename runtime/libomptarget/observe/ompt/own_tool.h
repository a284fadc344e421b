// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::ompt {

// Looks for a tool and starts it, once, in a process whose tool no libomp starts: OpenMP 5.2, 19.2. Such a tool only
// receives events of devices.
void start_own_tool();

} // namespace omptool::ompt

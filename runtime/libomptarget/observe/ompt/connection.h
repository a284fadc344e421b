// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPT: finds the performance tool of the process, once. libomp finds it, and connects this library; where no libomp
// could, this library looks for it as OpenMP 5.2 says.
#pragma once

namespace omptool::ompt {

// No lock may be held: a tool may call this library while it starts.
void connect();

} // namespace omptool::ompt

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::machine {

// Pauses in a loop that waits: `yield` does nothing on most processors, and `isb` delays for a while.
inline void pause() {
  __asm__ volatile("isb" ::: "memory");
}

} // namespace omptool::machine

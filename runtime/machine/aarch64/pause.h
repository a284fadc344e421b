// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::machine {

// Tells the processor that this is a loop that waits: `yield` does nothing on most of them, `isb` takes a while.
inline void pause() {
  __asm__ volatile("isb" ::: "memory");
}

} // namespace omptool::machine

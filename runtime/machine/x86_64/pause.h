// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::machine {

// Tells the processor that this is a loop that waits.
inline void pause() {
  __builtin_ia32_pause();
}

} // namespace omptool::machine

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the counter of time that the processor has: each machine has a file of its own, which defines
//   kHasCounter, whether there is one at all;
//   read_counter(), its ticks;
//   counts_as_clock(), whether it runs at one rate on all processors, through their sleep too, and the kernel's own
//   clock is made of it; it may read files;
//   kWidestReading, the ticks that a reading of the clock between two of the counter takes at most, undisturbed.
#pragma once

#if defined(__x86_64__)
#include "observe/events/counter_x86_64.h"
#else
#include <cstdint>

namespace omptool::observe {

constexpr bool kHasCounter = false;
constexpr std::uint64_t kWidestReading = 0;
inline std::uint64_t read_counter() {
  return 0;
}
inline bool counts_as_clock() {
  return false;
}

} // namespace omptool::observe
#endif

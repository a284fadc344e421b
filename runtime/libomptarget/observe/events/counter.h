// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time-stamp counter of the processor. Each machine has a file that defines
//   kHasCounter, whether there is one;
//   read_counter(), its ticks;
//   counts_as_clock(), whether it has one rate on all processors, also while they sleep, and is the source of the
// kernel's own clock; the function may read files;
//   kWidestReading, the most ticks between two readings of the counter with an undisturbed reading of the clock
// between.
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

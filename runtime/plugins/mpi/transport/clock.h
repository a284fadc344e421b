// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares a worker's clock with the program's. Each answer bounds the difference: an operation begins on the worker
// after the program has sent it, and ends before its answer arrives. The tightest bounds are kept; they widen with
// time, because clocks may drift.
#pragma once

#include "wire.h"

#include <chrono>
#include <cstdint>

namespace omptool::mpi {

// Now, in nanoseconds of this process's CLOCK_MONOTONIC.
inline std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

class WorkersClock {
public:
  // Returns by this process's clock when an operation ran that ran at `there` by the worker's: within `sent` and
  // `arrived`, when it was asked for and answered.
  Span translate(Span there, std::int64_t sent, std::int64_t arrived);

private:
  static constexpr std::int64_t kDrift = 10'000; // clocks part by at most one of so many nanoseconds

  std::int64_t least_ = 0, most_ = 0; // the worker's clock is ahead by at least the one and at most the other
  std::int64_t known_at_ = 0;         // when that was so; 0: not yet
};

} // namespace omptool::mpi

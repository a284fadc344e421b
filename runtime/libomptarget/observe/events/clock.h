// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clock of events: CLOCK_MONOTONIC within a microsecond. If the processor has a counter from which the kernel computes
// that clock, each thread extrapolates from its last reading for a millisecond, which halves the cost. The clock's rate
// may change by 500 ppm at most, so the error stays below half a microsecond.
#pragma once

#include "observe/events/counter.h"

#include <algorithm>
#include <chrono>

namespace omptool::observe {

class Clock {
public:
  using duration = std::chrono::steady_clock::duration;
  using time_point = std::chrono::steady_clock::time_point;
  static_assert(std::is_same_v<duration, std::chrono::nanoseconds>);

  // Returns the time. With a counter the result is later than the thread's last reading, so that operations have a
  // duration. Not for signal handlers.
  static time_point now() noexcept {
    OfThread& own = own_;
    if (own.most == 0) [[unlikely]]
      return synchronised();
    const std::uint64_t passed = read_counter() - own.ticks;
    if (passed >= own.most) [[unlikely]] // also if the counter has been set back
      return synchronised();
    return own.passed_on(own.nanoseconds + static_cast<std::int64_t>(passed * own.factor >> 32));
  }

  // Reading of both clocks at one moment.
  struct Reading {
    std::uint64_t ticks = 0;
    std::int64_t nanoseconds = 0;
  };
  // Factor from ticks to nanoseconds, in units of 2^-32, computed from two readings. 0: the readings are too close or
  // too far apart.
  static std::uint64_t factor_between(const Reading& one, const Reading& other) noexcept;

private:
  struct OfThread {
    std::uint64_t ticks = 0;      // at the last synchronisation
    std::int64_t nanoseconds = 0; // then
    std::uint64_t factor = 0;
    std::uint64_t most = 0; // ticks to count from there; 0: none
    std::int64_t last = 0;
    Reading before = {}; // some time ago, to compute the rate

    time_point passed_on(std::int64_t time) noexcept {
      last = std::max(last + 1, time); // the counter may be read ahead of an earlier reading
      return time_point(duration(last));
    }
  };
  static time_point synchronised() noexcept;
  static void learn_rate(const Reading& reading) noexcept;

  static thread_local OfThread own_ [[gnu::tls_model("initial-exec")]];
};

} // namespace omptool::observe

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judges the silence of another process. Only time in which this process listens counts: after a stop, or with rare
// looks, it gives the other process time to answer before it counts as lost.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace omptool::mpi {

class Pulse {
public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict { kWell, kAsk, kLost };

  // Period of silence that counts as a loss. Zero: none does.
  explicit Pulse(Clock::duration period = {}) : period_(period) {}

  // Records a message from the other side.
  void hear() { is_heard_ = true; }

  // Looks at the clock; called often. Returns kAsk once, in the middle of a silence: the caller then asks the other
  // side for a sign.
  Verdict look(Clock::time_point now) {
    if (period_ == Clock::duration::zero())
      return Verdict::kWell;
    const Clock::duration since = last_look_ == Clock::time_point() ? Clock::duration() : now - last_look_;
    last_look_ = now;
    if (std::exchange(is_heard_, false)) {
      silence_ = {};
      has_asked_ = false;
      return Verdict::kWell;
    }
    silence_ += std::min(since, period_ / kLeastLooks);
    if (silence_ >= period_ - period_ / kGrain)
      return Verdict::kLost;
    return silence_ >= period_ / 2 && !std::exchange(has_asked_, true) ? Verdict::kAsk : Verdict::kWell;
  }

  // Grain: looks per period, so a verdict is late by at most one look.
  static constexpr int kGrain = 32;

private:
  static constexpr int kLeastLooks = 8; // in a period that counts

  Clock::duration period_, silence_ = {};
  Clock::time_point last_look_ = {}; // the clock's zero: there was none
  bool is_heard_ = false, has_asked_ = false;
};

} // namespace omptool::mpi

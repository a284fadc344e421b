// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "clock.h"

#include <algorithm>
#include <numeric>

namespace omptool::mpi {

Span WorkersClock::translate(Span there, std::int64_t sent, std::int64_t arrived) {
  const std::int64_t least = there.ended - arrived, most = there.began - sent;
  if (least > most) // it took longer there than the whole took here
    return {sent, arrived};
  const std::int64_t drift = (arrived - known_at_) / kDrift + 1;
  least_ = std::max(least, least_ - drift);
  most_ = std::min(most, most_ + drift);
  if (known_at_ == 0 || least_ > most_) { // a clock has stood still, as in a machine that was suspended
    least_ = least;
    most_ = most;
  }
  known_at_ = arrived;
  const std::int64_t ahead = std::clamp(std::midpoint(least_, most_), least, most);
  return {there.began - ahead, there.ended - ahead};
}

} // namespace omptool::mpi

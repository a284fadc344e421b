// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the silence of another process: when it is asked for a sign, and when it counts as lost.
#include "mpi/transport/pulse.h"

#include <doctest/doctest.h>

using omptool::mpi::Pulse;
using Verdict = Pulse::Verdict;
using namespace std::chrono_literals;

namespace {

// Looks each `step` for `time`, and returns what was not kWell, with the time of it.
struct Seen {
  Pulse::Clock::duration asked{}, lost{};
  int asks = 0;
};

struct Watch {
  explicit Watch(Pulse::Clock::duration period) : pulse(period) {}

  Seen look(Pulse::Clock::duration time, Pulse::Clock::duration step) {
    Seen seen;
    for (Pulse::Clock::duration waited{}; waited <= time; waited += step, now += step) {
      const Verdict verdict = pulse.look(now);
      if (verdict == Verdict::kAsk && seen.asks++ == 0)
        seen.asked = waited;
      if (verdict == Verdict::kLost && seen.lost == seen.lost.zero())
        seen.lost = waited;
    }
    return seen;
  }

  Pulse pulse;
  Pulse::Clock::time_point now{1h};
};

} // namespace

TEST_CASE("a silence is a loss within its period, and the other is asked once before") {
  Watch watch(8s);
  const Seen seen = watch.look(10s, 100ms);
  CHECK(seen.asks == 1);
  CHECK(seen.asked >= 4s);
  CHECK(seen.asked < 4300ms);
  CHECK(seen.lost > 7s);
  CHECK(seen.lost <= 8s);
}

TEST_CASE("who is heard is asked for nothing") {
  Watch watch(8s);
  for (int i = 0; i < 10; ++i) {
    const Seen seen = watch.look(3s, 100ms);
    CHECK(seen.asks == 0);
    CHECK(seen.lost == 0s);
    watch.pulse.hear();
  }
  CHECK(watch.look(5s, 100ms).asks == 1);
  watch.pulse.hear();
  CHECK(watch.look(5s, 100ms).asks == 1); // again, in the next silence
}

TEST_CASE("a process that was stopped itself, or looks seldom, hears the other first") {
  Watch stopped(8s);
  CHECK(stopped.look(1s, 100ms).asks == 0);
  stopped.now += 1h;
  CHECK(stopped.look(1s, 100ms).lost == 0s);
  Watch seldom(8s);
  const Seen seen = seldom.look(60s, 5s);
  CHECK(seen.asks == 1);
  CHECK(seen.asked >= 20s); // four looks
  CHECK(seen.lost >= seen.asked + 15s);
}

TEST_CASE("without a period nobody is lost") {
  Watch watch(0s);
  const Seen seen = watch.look(100h, 1h);
  CHECK(seen.asks == 0);
  CHECK(seen.lost == 0s);
}

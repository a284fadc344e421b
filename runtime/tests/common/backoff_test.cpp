// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that waits looks often at first, and then naps for a small part of the time that it has waited.
#include "backoff.h"

#include <algorithm>
#include <ctime>
#include <doctest/doctest.h>
#include <thread>
#include <vector>

using omptool::Backoff;
using namespace std::chrono_literals;

namespace {

Backoff::Time cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Backoff::Time(used.tv_nsec);
}

// Pauses for that time, and returns how long the naps were to be.
std::vector<Backoff::Time> naps_in(Backoff::Time time, Backoff& backoff) {
  std::vector<Backoff::Time> naps;
  for (const auto began = Backoff::Clock::now(); Backoff::Clock::now() - began < time;)
    backoff.pause([&](Backoff::Time nap) {
      naps.push_back(nap);
      std::this_thread::sleep_for(nap);
      return true;
    });
  return naps;
}

} // namespace

TEST_CASE("the first looks follow each other without a nap, again after something has come") {
  Backoff backoff;
  for (int round = 0; round < 20; ++round) {
    bool napped = false;
    backoff.reset();
    backoff.pause([&](Backoff::Time) { return napped = true; });
    CHECK_FALSE(napped);
  }
}

TEST_CASE("naps grow with the time waited, up to a millisecond") {
  Backoff backoff;
  const std::vector<Backoff::Time> naps = naps_in(120ms, backoff);
  REQUIRE_FALSE(naps.empty());
  CHECK(std::is_sorted(naps.begin(), naps.end()));
  CHECK(naps.back() <= 1ms);
  CHECK(naps.back() > 500us);
}

TEST_CASE("a long wait takes little of the processor") {
  Backoff backoff;
  const Backoff::Time before = cpu_time();
  naps_in(200ms, backoff);
  CHECK(cpu_time() - before < 60ms);
}

TEST_CASE("a nap that something ends early is no measure of naps, and the looks begin anew") {
  Backoff backoff;
  naps_in(2ms, backoff); // long enough for naps that last
  const Backoff::Time known = Backoff::cost_of_nap();
  for (int ended = 0; ended < 100;)
    backoff.pause([&](Backoff::Time) {
      ++ended;
      return false;
    });
  CHECK(Backoff::cost_of_nap() == known);
  CHECK(backoff.look_again());
}

TEST_CASE("who sleeps in a way of their own is told when, and measures nothing") {
  const Backoff::Time known = Backoff::cost_of_nap();
  for (int round = 0; round < 100; ++round)
    for (Backoff backoff; backoff.look_again();) {
    }
  CHECK(Backoff::cost_of_nap() == known);
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/events/clock.h"

#include <atomic>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using omptool::observe::Clock;

namespace {

using Monotonic = std::chrono::steady_clock;
using std::chrono::nanoseconds;
constexpr nanoseconds kMostApart{1000};

// Returns how far the clock is from the monotonic one, by the reading that other processes have delayed least.
nanoseconds difference() {
  nanoseconds least = nanoseconds::max();
  for (int i = 0; i < 100 && least > nanoseconds::zero(); ++i) {
    const Monotonic::time_point before = Monotonic::now();
    const Clock::time_point now = Clock::now();
    const Monotonic::time_point after = Monotonic::now();
    least = std::min(least, std::max({before - now, now - after, nanoseconds::zero()}));
  }
  return least;
}

// Counts the readings that are less than the one before or too far from the monotonic clock.
int count_faults(std::chrono::milliseconds time, std::chrono::microseconds pause) {
  int faults = 0;
  Clock::time_point last = Clock::now();
  for (const auto end = Monotonic::now() + time; Monotonic::now() < end;) {
    for (int i = 0; i < 1000; ++i) {
      const Clock::time_point now = Clock::now();
      faults += now < last;
      last = now;
    }
    faults += difference() > kMostApart;
    std::this_thread::sleep_for(pause);
  }
  return faults;
}

} // namespace

TEST_CASE("the clock is within a microsecond of the monotonic one and never goes back, on each thread") {
  std::atomic<int> faults = 0;
  std::vector<std::thread> threads;
  for (const int pause : {0, 100, 3000, 40000}) // microseconds, that it counts on over, or not
    threads.emplace_back(
        [&faults, pause] { faults += count_faults(std::chrono::milliseconds(400), std::chrono::microseconds(pause)); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(faults == 0);
}

TEST_CASE("a child of fork() goes on with the clock") {
  CHECK(count_faults(std::chrono::milliseconds(30), std::chrono::microseconds(0)) == 0);
  const Clock::time_point before = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_later = Clock::now() >= before;
    ::_exit(is_later && count_faults(std::chrono::milliseconds(30), std::chrono::microseconds(0)) == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("two readings give the rate, unless they are too near, too far, or the counter was set back") {
  constexpr std::int64_t kMillisecond = 1'000'000;
  const Clock::Reading first{1000, 5'000 * kMillisecond};
  const auto later = [&](std::uint64_t ticks, std::int64_t milliseconds) {
    return Clock::factor_between(first, {first.ticks + ticks, first.nanoseconds + milliseconds * kMillisecond});
  };
  CHECK(later(40'000'000, 20) == std::uint64_t{1} << 31); // two ticks in a nanosecond
  CHECK(later(500'000'000, 1000) == std::uint64_t{1} << 33);
  CHECK(later(2'000'000, 1) == 0);
  CHECK(later(2'002'000'000, 1001) == 0);
  CHECK(later(0, 20) == 0);
  CHECK(later(std::uint64_t{0} - 500, 20) == 0);
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/events/clock.h"

#include <atomic>

namespace omptool::observe {

constinit thread_local Clock::OfThread Clock::own_{};

namespace {

// Readings as far apart give the rate: the longer, the more exact, and the later.
constexpr std::int64_t kNear = 10'000'000, kFar = 1'000'000'000; // nanoseconds
constexpr std::int64_t kCounted = 1'000'000; // nanoseconds from one reading of the clock to the next

enum class Use : std::uint8_t { kUnknown, kNo, kYes };
constinit std::atomic<Use> use{Use::kUnknown};
// Rate of the clock, shared by all threads, because threads may be short. 0: not measured yet.
constinit std::atomic<std::uint64_t> rate{0};

bool is_used() {
  Use known = use.load(std::memory_order_relaxed);
  if (known == Use::kUnknown) // no lock, which a child of fork() would find held
    use.store(known = counts_as_clock() ? Use::kYes : Use::kNo, std::memory_order_relaxed);
  return known == Use::kYes;
}

std::int64_t monotonic_now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// Reads both clocks. Returns whether nothing came between: what did so is soon over.
bool read_both(Clock::Reading& reading) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t begin = read_counter();
    reading.nanoseconds = monotonic_now();
    const std::uint64_t width = read_counter() - begin;
    reading.ticks = begin + width / 2;
    if (width <= kWidestReading)
      return true;
  }
  return false;
}

} // namespace

std::uint64_t Clock::factor_between(const Reading& one, const Reading& other) noexcept {
  const std::int64_t nanoseconds = other.nanoseconds - one.nanoseconds;
  const std::uint64_t ticks = other.ticks - one.ticks;
  if (nanoseconds < kNear || nanoseconds > kFar || other.ticks <= one.ticks)
    return 0;
  return (static_cast<std::uint64_t>(nanoseconds) << 32) / ticks; // no second has more than 2^32 nanoseconds
}

// Learns the rate anew every now and then. One that differs much is none: the machine may have slept meanwhile.
void Clock::learn_rate(const Reading& reading) noexcept {
  OfThread& own = own_;
  if (reading.nanoseconds - own.before.nanoseconds < kNear)
    return;
  if (const std::uint64_t found = own.before.ticks == 0 ? 0 : factor_between(own.before, reading)) {
    const std::uint64_t known = rate.load(std::memory_order_relaxed);
    const std::uint64_t difference = found > known ? found - known : known - found;
    rate.store(known == 0 || difference < known / 1000 ? found : 0, std::memory_order_relaxed);
  }
  own.before = reading;
}

Clock::time_point Clock::synchronised() noexcept {
  OfThread& own = own_;
  own.most = 0;
  if (!kHasCounter || !is_used())
    return time_point(duration(monotonic_now()));
  const bool is_known = rate.load(std::memory_order_relaxed) != 0;
  if (!is_known && own.before.ticks != 0) // nothing is to be learnt yet
    if (const std::int64_t now = monotonic_now(); now - own.before.nanoseconds < kNear)
      return own.passed_on(now);
  Reading reading;
  if (!read_both(reading))
    return own.passed_on(reading.nanoseconds);
  learn_rate(reading);
  own.factor = rate.load(std::memory_order_relaxed);
  if (own.factor != 0)
    own.most = (std::uint64_t{kCounted} << 32) / own.factor;
  own.ticks = reading.ticks;
  own.nanoseconds = reading.nanoseconds;
  return own.passed_on(reading.nanoseconds);
}

} // namespace omptool::observe

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paces a thread that polls for progress which only its own calls make. Between two polls it yields its core, which the
// awaited work may need, and later it naps. Measured costs decide: it yields as long as that is cheaper than a nap, and
// a nap lasts a small part of the time waited, so that it adds little. Where yielding does not pay, it polls without a
// pause for some microseconds. An object is used by one thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace omptool {

class Backoff {
public:
  using Clock = std::chrono::steady_clock;
  using Time = std::chrono::nanoseconds;

  static constexpr Time kUsual = std::chrono::milliseconds(1);
  // `longest` limits a nap: a thread that has waited for seconds may nap longer than usual, which costs less CPU time.
  explicit Backoff(Time longest = kUsual) : longest_(longest) {}

  // Resets the waiting time after progress, because more may follow soon.
  void reset() { began_ = {}; }

  // Comes between two looks. Returns false if it is time for a nap.
  bool look_again() {
    const Clock::time_point now = Clock::now();
    if (began_ == Clock::time_point())
      began_ = now;
    const Time waited = now - began_;
    if (waited >= cost_of_nap() || now.time_since_epoch() < Time(no_yield_before.load(std::memory_order_relaxed)))
      return waited < kSpinning;
    yield(now);
    return true;
  }

  // Pauses. Where it is time for a nap, calls nap(time), which returns false if an arrival ended it early. Such a nap
  // is not measured, and the caller may find more at once.
  template <typename Nap> void pause(const Nap& nap) {
    if (look_again())
      return;
    const Clock::time_point now = Clock::now();
    const Time waited = now - began_;
    const Time time = std::clamp<Time>(waited / kPart, kLeast, std::clamp(waited / kSmallPart, kUsual, longest_));
    if (nap(time))
      note_cost(Clock::now() - now - time);
    else
      reset();
  }
  void pause() {
    pause([](Time time) {
      std::this_thread::sleep_for(time);
      return true;
    });
  }

  // Returns the cost of the shortest nap on this machine, as measured recently.
  static Time cost_of_nap() { return Time(nap_cost.load(std::memory_order_relaxed)); }

private:
  static constexpr Time kSpinning = std::chrono::microseconds(5);
  static constexpr Time kLeast = std::chrono::nanoseconds(1); // the kernel makes some 50 µs of it
  static constexpr int kPart = 128, kSmallPart = 1024;
  static constexpr int kRarely = 32; // times the duration that another thread had the core, without a yield

  static inline constinit std::atomic<Time::rep> nap_cost{60'000};
  // Time before which this process does not yield: a busy thread had the core after the last yield, and yielding pays
  // only if that is rare.
  static inline constinit std::atomic<Time::rep> no_yield_before{0}; // by the clock

  static void yield(Clock::time_point began) {
    std::this_thread::yield();
    const Clock::time_point now = Clock::now();
    if (now - began > cost_of_nap())
      no_yield_before.store((now + kRarely * (now - began)).time_since_epoch().count(), std::memory_order_relaxed);
  }

  static void note_cost(Time more) {
    constexpr int kKept = 7; // eighths of the earlier value
    nap_cost.store((cost_of_nap() * kKept + std::clamp(more, kLeast, kUsual)).count() / (kKept + 1),
                   std::memory_order_relaxed);
  }

  Time longest_;
  Clock::time_point began_ = {}; // of the waiting; the clock's zero: it has not begun
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock for a few instructions' worth of work: one atomic exchange to take it, a plain store to leave.
#pragma once

#include <atomic>
#include <sched.h>

namespace omptool {

class SpinLock {
public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire))
      wait();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

private:
  // Whoever holds it may have lost its processor to another thread, perhaps to this one.
  void wait() {
    constexpr int kSpins = 64;
    for (int i = 0; taken_.load(std::memory_order_relaxed); ++i)
      if (i < kSpins)
        __builtin_ia32_pause();
      else
        ::sched_yield();
  }

  std::atomic<bool> taken_{false};
};

} // namespace omptool

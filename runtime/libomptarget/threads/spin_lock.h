// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lock of one byte for a few instructions' worth of work, without plugin calls or sleeps.
#pragma once

#include "held_locks.h"
#include "pause.h"

#include <atomic>
#include <sched.h>

namespace omptool {

class SpinLock {
public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
    held_locks::acquired();
  }
  void unlock() {
    held_locks::released();
    taken_.store(false, std::memory_order_release);
  }

private:
  // Waits with a yield, because the holder may have lost its processor to another thread, perhaps to this one.
  [[gnu::noinline, gnu::cold]] void wait() const {
    constexpr int kSpins = 64;
    for (int i = 0; taken_.load(std::memory_order_relaxed); ++i)
      if (i < kSpins)
        machine::pause();
      else
        ::sched_yield();
  }

  std::atomic<bool> taken_{false};
};

} // namespace omptool

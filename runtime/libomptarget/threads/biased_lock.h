// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock for a few instructions' worth of work that one thread nearly always takes: it then costs two
// plain stores (biased locking: Kawachiya, Koseki and Onodera, 2002). The first thread has the bias. When
// another one comes, it takes the bias away for good, and the lock is an ordinary spin lock from then on.
//
// The thread with the bias stores `inside_` and then loads `bias_`; who takes the bias away stores `bias_` and then
// loads `inside_`. Barriers order these pairs: the one leaves again, or the other sees it inside and waits. Each holder
// of the lock comes after the last one by the store that released the lock, to `inside_` or to `taken_`, and its own
// load, which acquires. A store of true to `inside_` releases nothing, and nobody goes on by it.
#pragma once

#include "held_locks.h"
#include "pause.h"
#include "threads/barriers.h"

#include <atomic>
#include <cstdint>
#include <sched.h>

namespace omptool {

inline thread_local constinit std::uint64_t the_thread __attribute__((tls_model("initial-exec"))) = 0;
inline std::atomic<std::uint64_t> threads_so_far{0};

class BiasedLock {
public:
  void lock() {
    const std::uint64_t me = the_thread;
    if (me != kNobody && bias_.load(std::memory_order_relaxed) == me) {
      inside_.store(true, std::memory_order_relaxed);
      light_barrier(); // pairs with lock_slowly()'s
      if (bias_.load(std::memory_order_relaxed) == me) [[likely]] {
        by_bias_ = true;
        held_locks::acquired();
        return;
      }
      inside_.store(false, std::memory_order_release);
    }
    lock_slowly();
  }
  void unlock() {
    held_locks::released();
    if (by_bias_)
      inside_.store(false, std::memory_order_release);
    else
      taken_.store(false, std::memory_order_release);
  }

private:
  static constexpr std::uint64_t kNobody = 0, kEverybody = UINT64_MAX;

  [[gnu::noinline]] void lock_slowly() {
    while (taken_.exchange(true, std::memory_order_acquire))
      wait_for(taken_);
    const std::uint64_t owner = bias_.load(std::memory_order_relaxed);
    if (owner == kNobody) {
      if (the_thread == kNobody)
        the_thread = threads_so_far.fetch_add(1, std::memory_order_relaxed) + 1;
      bias_.store(the_thread, std::memory_order_relaxed);
    } else if (owner != kEverybody && owner != the_thread) {
      bias_.store(kEverybody, std::memory_order_relaxed);
      heavy_barrier(); // pairs with lock()'s: the owner sees that, or is seen inside
      while (inside_.load(std::memory_order_acquire))
        wait_for(inside_);
    }
    by_bias_ = false;
    held_locks::acquired();
  }

  // Whoever is inside may have lost its processor to another thread, perhaps to this one.
  static void wait_for(const std::atomic<bool>& flag) {
    constexpr int kSpins = 64;
    for (int i = 0; flag.load(std::memory_order_relaxed); ++i)
      if (i < kSpins)
        machine::pause();
      else
        ::sched_yield();
  }

  std::atomic<std::uint64_t> bias_{kNobody};
  std::atomic<bool> inside_{false}; // the thread with the bias
  std::atomic<bool> taken_{false};  // by any thread, that one too
  bool by_bias_ = false;            // how whoever holds it came in
};

} // namespace omptool

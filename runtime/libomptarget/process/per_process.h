// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An object that a process has once, made when it is first asked for. Never destroyed: threads go on while the process
// exits. A child of fork() makes its own, for the lock of its parent's may be held by a thread that is gone.
#pragma once

#include <atomic>
#include <pthread.h>

namespace omptool {

template <typename Object> class PerProcess {
public:
  static Object& get() {
    Object* known = the_one.load(std::memory_order_acquire);
    if (known)
      return *known;
    static std::atomic<bool> is_watching{false};
    if (!is_watching.exchange(true))
      ::pthread_atfork(nullptr, nullptr, [] {
        if (Object* const left = the_one.exchange(nullptr))
          the_parents = left;
      });
    auto* const made = new Object;
    if (the_one.compare_exchange_strong(known, made))
      return *made;
    delete made;
    return *known;
  }
  // Null: nobody has asked for it.
  static Object* known() { return the_one.load(std::memory_order_acquire); }

  // Returns what the process had that forked this one, or one before it: given up unlocked and unfreed.
  static Object* parents() { return the_parents.load(std::memory_order_acquire); }

private:
  static inline constinit std::atomic<Object*> the_one{nullptr}, the_parents{nullptr};
};

} // namespace omptool

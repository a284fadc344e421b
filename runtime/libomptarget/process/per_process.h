// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An object that a process has once, made when it is first asked for. Never destroyed: threads go on while the process
// exits. A child of fork() makes its own, for the lock of its parent's may be held by a thread that is gone. It keeps
// what is const, which has no lock. Without the lock of a static's initialisation, for the same reason: of threads that
// make one at the same time, the first to finish counts.
#pragma once

#include <atomic>
#include <pthread.h>
#include <type_traits>

namespace omptool {

template <typename Object> class PerProcess {
public:
  static Object& get() {
    Object* const known = the_one.load(std::memory_order_acquire);
    return known ? *known : make();
  }
  // Null: this process has not made it.
  static Object* known() { return the_one.load(std::memory_order_acquire); }

  // Returns what the process had that forked this one, or one before it: given up unlocked and unfreed.
  static Object* parents() { return the_parents.load(std::memory_order_acquire); }

private:
  [[gnu::noinline, gnu::cold]] static Object& make() {
    // Before anybody can have one: a thread may fork at once. To watch twice does no harm.
    static constinit std::atomic<bool> is_watching{std::is_const_v<Object>};
    if (!is_watching) {
      ::pthread_atfork(nullptr, nullptr, [] {
        if (Object* const left = the_one.exchange(nullptr))
          the_parents = left;
      });
      is_watching = true;
    }
    auto* const made = new Object;
    Object* known = nullptr;
    if (the_one.compare_exchange_strong(known, made))
      return *made;
    delete made;
    return *known;
  }

  static inline constinit std::atomic<Object*> the_one{nullptr}, the_parents{nullptr};
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An object that a process has once, made at its first use. Never destroyed, because threads run on while the process
// exits. A child of fork() makes its own, because a thread that does not exist there may hold the lock of its parent's
// object. The child keeps a const object, which has no lock. The lock of a static's initialisation is avoided for the
// same reason: if several threads make the object at the same time, the first to finish counts.
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
  // Returns null if this process has not made the object.
  static Object* known() { return the_one.load(std::memory_order_acquire); }

  // Returns the object of the parent process, or of an earlier ancestor: neither unlocked nor freed.
  static Object* parents() { return the_parents.load(std::memory_order_acquire); }

private:
  [[gnu::noinline, gnu::cold]] static Object& make() {
    // Registers the fork handler before the object is published, because a thread may fork at once. Registering it
    // twice does no harm.
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

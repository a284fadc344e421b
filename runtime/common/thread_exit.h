// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls a function when a thread exits. The destructor of a thread_local would do so, too, but to register it takes the
// lock of the dynamic linker, which a thread in dlclose() holds while it waits for a lock of the runtime's. A key of
// pthreads needs no lock.
#pragma once

#include <atomic>
#include <pthread.h>

namespace omptool {

// An object of this class is a static one: its key is never deleted. A child of fork() uses the keys of its parent.
class ThreadExit {
public:
  // `function` gets what the thread has passed to arm().
  explicit constexpr ThreadExit(void (*function)(void*)) : function_(function) {}

  // Has the function called once, when this thread exits, with the last value passed. The value is not null. The
  // function may arm the thread again. Returns false if the process has no more keys: then nothing is called.
  bool arm(void* value) noexcept {
    const unsigned known = key_.load(std::memory_order_acquire);
    return (known != kNone || make()) && ::pthread_setspecific(key_.load(std::memory_order_acquire), value) == 0;
  }

private:
  static constexpr unsigned kNone = ~0U;
  static_assert(sizeof(pthread_key_t) == sizeof(unsigned));

  // Of threads that make the key at the same time, the first one's stays. No static's guard: a child of fork() may find
  // it held.
  [[gnu::cold]] bool make() noexcept {
    pthread_key_t made = 0;
    if (::pthread_key_create(&made, function_) != 0)
      return false;
    if (unsigned none = kNone; !key_.compare_exchange_strong(none, made, std::memory_order_acq_rel))
      ::pthread_key_delete(made);
    return true;
  }

  void (*const function_)(void*);
  std::atomic<unsigned> key_{kNone};
};

} // namespace omptool

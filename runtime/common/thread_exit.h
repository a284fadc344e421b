// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls a function when a thread exits. The destructor of a thread_local would do so, too, but its registration takes
// the dynamic linker's lock, which a thread in dlclose() holds while it waits for a lock of the runtime. A key of
// pthreads needs no lock.
#pragma once

#include <atomic>
#include <pthread.h>

namespace omptool {

// Thread-exit callback. Objects are static: the key is never deleted. A child of fork() uses the keys of its parent.
class ThreadExit {
public:
  // `function` receives the value passed to arm().
  explicit constexpr ThreadExit(void (*function)(void*)) : function_(function) {}

  // Arms the callback: the function runs once, when this thread exits, with the last value passed, which is not null.
  // The function may arm the thread again. Returns false if the process has no more keys; then the function never runs.
  bool arm(void* value) noexcept {
    const unsigned known = key_.load(std::memory_order_acquire);
    return (known != kNone || make()) && ::pthread_setspecific(key_.load(std::memory_order_acquire), value) == 0;
  }

private:
  static constexpr unsigned kNone = ~0U;
  static_assert(sizeof(pthread_key_t) == sizeof(unsigned));

  // Makes the key. If several threads make it at the same time, the first key stays. A static's guard is not used,
  // because a child of fork() may find it held.
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

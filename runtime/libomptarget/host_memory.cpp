// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_memory.h"

#include "registry.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <set>

namespace omptool {
namespace {

// What this child of fork() has got from the host.
struct Own {
  std::mutex mutex;
  std::set<void*> memory;
};
constinit std::atomic<Own*> the_own{nullptr};

// A child of the child cannot tell who holds the lock; what is not known is left alone there.
void forget_after_fork() {
  the_own = nullptr;
}

Own& own() {
  static std::once_flag watching;
  std::call_once(watching, [] { ::pthread_atfork(nullptr, nullptr, forget_after_fork); });
  Own* known = the_own.load(std::memory_order_acquire);
  if (known)
    return *known;
  auto* const made = new Own; // never destroyed: other threads may still free while the process exits
  if (the_own.compare_exchange_strong(known, made, std::memory_order_acq_rel))
    return *made;
  delete made;
  return *known;
}

} // namespace

void* allocate_on_host(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory && Registry::lost_any_device()) {
    const std::lock_guard lock(own().mutex);
    own().memory.insert(memory);
  }
  return memory;
}

void release_on_host(void* memory) {
  if (Registry::lost_any_device()) {
    const std::lock_guard lock(own().mutex);
    if (own().memory.erase(memory) == 0)
      return;
  }
  std::free(memory);
}

} // namespace omptool

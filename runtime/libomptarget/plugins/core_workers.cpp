// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plugins/core_workers.h"

#include "process/environment.h"
#include "workers.h"

#include <atomic>
#include <pthread.h>
#include <utility>

namespace omptool::core_workers {
namespace {

struct Pools {
  Workers operating{environment().in_flight}, finishing{environment().in_flight};
};

std::atomic<Pools*> the_pools{nullptr};
thread_local bool is_one [[gnu::tls_model("initial-exec")]] = false;

// Never destroyed: its threads outlive everything. A child of fork() has none of them, and makes its own.
Pools& pools() {
  static std::atomic<bool> watching{false};
  if (!watching.exchange(true))
    ::pthread_atfork(nullptr, nullptr, [] { the_pools = nullptr; });
  Pools* known = the_pools.load(std::memory_order_acquire);
  if (known)
    return *known;
  auto* const made = new Pools;
  if (the_pools.compare_exchange_strong(known, made))
    return *made;
  delete made;
  return *known;
}

std::function<void()> marked(std::function<void()> work) {
  return [work = std::move(work)] {
    is_one = true;
    work();
  };
}

} // namespace

void operate(std::function<void()> work) {
  pools().operating.run(marked(std::move(work)));
}

void finish(std::function<void()> work) {
  pools().finishing.run(marked(std::move(work)));
}

bool here() {
  return is_one;
}

} // namespace omptool::core_workers

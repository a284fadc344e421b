// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host.h"

#include <cstdlib>
#include <mutex>
#include <pthread.h>

namespace omptool::host {
namespace {

std::atomic<Host*> the_parents{nullptr};

void forget_after_fork() {
  if (Host* left = the_host.exchange(nullptr))
    the_parents = left;
}

void end_queues() {
  if (Host* const known = the_host)
    known->queue.end();
}

} // namespace

constinit std::atomic<Host*> the_host{nullptr};

[[gnu::noinline, gnu::cold]] Host& make_host() {
  static std::once_flag watching;
  std::call_once(watching, [] {
    ::pthread_atfork(nullptr, nullptr, forget_after_fork);
    std::atexit(end_queues);
  });
  // Never destroyed: threads may still run kernels while the process exits.
  auto made = std::make_unique<Host>();
  made->parents = the_parents;
  for (std::int32_t i = 0; i < device_count(); ++i)
    made->devices.push_back(std::make_unique<Device>(i, made->pool, made->crews));
  Host* known = nullptr;
  if (the_host.compare_exchange_strong(known, made.get()))
    return *made.release();
  return *known;
}

void fail_for_device(std::int32_t device_id) {
  fail("there is no device " + std::to_string(device_id));
}

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "threads/barriers.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptool {
namespace {

bool membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

} // namespace

void request_barriers() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    barriers.exchange(Barriers::kOnRequest, std::memory_order_seq_cst);
}

void heavy_barrier() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Barriers now = Barriers::kOrdinary;
  if (barriers.compare_exchange_strong(now, Barriers::kOrdinary, std::memory_order_seq_cst)) // a read-modify-write
    return;
  if (now == Barriers::kOnRequest && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    return;
  // Long enough for all stores before a light barrier to be visible, in microseconds. The program has forbidden
  // membarrier(2) since the request (seccomp), so light barriers are ordinary ones from now on. When this wait is over,
  // the stores that threads made before a light barrier without a fence have long been visible. All threads that come
  // here before then wait, too. C++ requires that a store becomes visible "in a reasonable amount of time"
  // ([atomics.order]), and processors empty their store buffers by themselves, in microseconds; an interrupted thread's
  // are empty.
  constexpr unsigned kLong = 10000; // microseconds
  barriers.store(Barriers::kGivenUp, std::memory_order_seq_cst);
  ::usleep(kLong);
  barriers.store(Barriers::kOrdinary, std::memory_order_seq_cst);
}

} // namespace omptool

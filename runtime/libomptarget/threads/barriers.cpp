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
  // The program has forbidden it since (seccomp). Light barriers are ordinary ones from now on. When the wait is over,
  // the stores that threads made before a light barrier that was no ordinary one have long been seen. Everyone who
  // comes until then waits, too. C++ says that a store is seen "in a reasonable amount of time" ([atomics.order]), and
  // processors empty their store buffers by themselves, in microseconds; an interrupted thread's are empty.
  constexpr unsigned kLong = 10000; // microseconds
  barriers.store(Barriers::kGivenUp, std::memory_order_seq_cst);
  ::usleep(kLong);
  barriers.store(Barriers::kOrdinary, std::memory_order_seq_cst);
}

} // namespace omptool

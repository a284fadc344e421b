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
    barriers.store(Barriers::kOnRequest, std::memory_order_seq_cst);
}

void heavy_barrier() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Barriers now = barriers.load(std::memory_order_seq_cst);
  if (now == Barriers::kOrdinary || (now == Barriers::kOnRequest && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)))
    return;
  // The program has forbidden it since (seccomp). Light barriers are ordinary ones from now on. When the wait is over,
  // the stores that threads made before a light barrier that was no ordinary one have long been seen. Everyone who
  // comes until then waits, too.
  constexpr unsigned kLong = 10000; // microseconds
  barriers.store(Barriers::kGivenUp, std::memory_order_seq_cst);
  ::usleep(kLong);
  barriers.store(Barriers::kOrdinary, std::memory_order_seq_cst);
}

} // namespace omptool

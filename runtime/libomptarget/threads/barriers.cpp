// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "threads/barriers.h"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptool {
namespace {

bool membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

// Interrupts every processor that runs a thread of this process, which is a barrier to it: no longer being
// allowed to write to a page must not be remembered wrongly anywhere.
void interrupt_threads() {
  constexpr unsigned kLong = 10000; // microseconds: what has been stored is seen long before
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    ::usleep(kLong);
    return;
  }
  *static_cast<volatile char*>(page) = 1;
  if (::mprotect(page, size, PROT_READ) != 0)
    ::usleep(kLong);
  ::munmap(page, size);
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
  // The program has forbidden it since (seccomp). Light barriers are ordinary ones from now on; those that
  // threads have passed before they see that are made up for, by everyone who comes before that is done.
  barriers.store(Barriers::kGivenUp, std::memory_order_seq_cst);
  interrupt_threads();
  barriers.store(Barriers::kOrdinary, std::memory_order_seq_cst);
}

} // namespace omptool

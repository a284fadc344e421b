// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory barriers for two sides of which one is common and one is rare: the rare side makes every thread
// pass a barrier (membarrier(2)), so that the common side needs none.
#pragma once

#include <atomic>

namespace omptool {

enum class Barriers { kOrdinary, kOnRequest, kGivenUp };
inline std::atomic<Barriers> barriers{Barriers::kOrdinary};

// Orders the caller's stores before its later loads, as seen by a thread that passes heavy_barrier().
inline void light_barrier() {
  if (barriers.load(std::memory_order_acquire) == Barriers::kOnRequest) [[likely]]
    std::atomic_signal_fence(std::memory_order_seq_cst);
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}
void heavy_barrier();
// Where the kernel has no membarrier(2), or as long as nobody has asked for it here, both are ordinary.
void request_barriers();

} // namespace omptool

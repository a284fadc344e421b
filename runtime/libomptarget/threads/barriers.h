// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory barriers for two sides of which one is common and one is rare: the rare side makes every thread pass a barrier
// (membarrier(2)), so that the common side needs none.
//
// Each side stores, passes its barrier, and then loads what the other side stores: at least one side sees the other's
// store. This orders each store before the load behind it:
// - kOrdinary: both barriers are fences with seq_cst. One of two is first in their order, and the load behind the
//   other one sees the store before it.
// - kOnRequest: membarrier(2) makes each thread pass such a fence somewhere between the call's begin and its end. If
//   the common side passes it before its load, the load sees the rare side's store. If it does so behind its load, and
//   so behind its store, which the compiler keeps in front of the load, the rare side sees that store.
// - From the one to the other: the rare side reads that barriers are ordinary by a read-modify-write, and the change
//   follows as another. So a common side that reads kOnRequest comes behind the stores before that.
#pragma once

#include <atomic>

namespace omptool {

enum class Barriers { kOrdinary, kOnRequest, kGivenUp };
inline std::atomic<Barriers> barriers{Barriers::kOrdinary};

// Orders the caller's stores before its later loads, as seen by a thread that passes heavy_barrier(). Orders nothing
// else: a thread that reads another's data needs a release and an acquire.
inline void light_barrier() {
  if (barriers.load(std::memory_order_acquire) == Barriers::kOnRequest) [[likely]]
    std::atomic_signal_fence(std::memory_order_seq_cst);
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}
void heavy_barrier();
// Requests expedited barriers. If the Linux kernel has no membarrier(2), or before this call, both barriers are
// ordinary.
void request_barriers();

} // namespace omptool

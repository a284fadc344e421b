// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records that running calls look at without a lock, and that others replace: hazard pointers (Michael,
// 2004). A call publishes what it uses with a plain store; who wants to free something makes every
// thread pass a barrier (membarrier(2)), then looks whether it is published. So the common side, a
// launch, writes only to memory of its own thread.
//
// A user stores the item's address to its hazard pointer and then loads once more where it found it; who retires the
// item has stored another there, and then loads the hazard pointers. Barriers order these pairs: the user sees that the
// item is gone, or is seen using it. The user has read the item before it is freed: all stores to a hazard pointer
// release, those of the next address as well, and published_items() acquires. A thread that takes its first hazard
// pointer puts it into the list before its barrier, and so is in the list, or sees that the item is gone.
#pragma once

#include "threads/barriers.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace omptool {

// The items that one thread uses. Never freed; a thread that ends leaves its own to the next.
struct alignas(64) HazardPointer {
  std::atomic<const void*> index{nullptr};  // while it is looked through
  std::atomic<const void*> record{nullptr}; // found there; written before `index` is cleared
  std::atomic<bool> taken{true};
  HazardPointer* next = nullptr;
};

HazardPointer& make_hazard_pointer();
// Returns what all threads use, in order.
std::vector<const void*> published_items();

inline thread_local constinit HazardPointer* hazard_pointer_here __attribute__((tls_model("initial-exec"))) = nullptr;

inline HazardPointer& my_hazard_pointer() {
  return hazard_pointer_here ? *hazard_pointer_here : make_hazard_pointer();
}

// Keeps items that nobody can find any more until nobody uses them.
class Retired {
public:
  // Users publish the item's address. It is given up when no thread publishes that, and nothing else leads there.
  void add(std::shared_ptr<const void> item);
  // Gives up what is unused; their destructors run without a lock.
  void collect();
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> items_;
  std::atomic<std::size_t> count_{0};
};

} // namespace omptool

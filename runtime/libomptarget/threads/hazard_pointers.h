// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records that calls read without a lock, and that other threads replace: hazard pointers (Michael, 2004). A call
// publishes the records that it uses with a plain store. A thread that wants to free one makes every thread pass a
// barrier (membarrier(2)), and then looks whether the record is published. So the common side, a launch, writes only to
// memory of its own thread.
//
// A user stores the item's address to its hazard pointer, and then loads once more from where it found the address. The
// thread that retires the item has stored another address there, and then loads the hazard pointers. Barriers order
// these pairs: the user sees that the item is gone, or is seen using it. The user has read the item before it is freed:
// all stores to a hazard pointer are release stores, those of the next address as well, and published_items() acquires.
// A thread that gets its first hazard pointer adds it to the list before its barrier, and so is in the list, or sees
// that the item is gone.
#pragma once

#include "threads/barriers.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace omptool {

// Hazard pointer: the items that one thread uses. Never freed; a thread that ends passes its own to the next.
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

// Retired items, which no new user can find: kept until the last user has finished.
class Retired {
public:
  // Adds a retired item. Users publish its address. It is released when no thread publishes that, and nothing else
  // leads to it.
  void add(std::shared_ptr<const void> item);
  // Collects unused items; their destructors run without a lock.
  void collect();
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> items_;
  std::atomic<std::size_t> count_{0};
};

} // namespace omptool

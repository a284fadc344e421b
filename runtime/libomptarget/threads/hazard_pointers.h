// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records that running calls look at without a lock, and that others replace: hazard pointers (Michael,
// 2004). A call announces what it uses with a plain store; who wants to free something makes every
// thread pass a barrier (membarrier(2)), then looks whether it is announced. So the common side, a
// launch, writes only to memory of its own thread.
#pragma once

#include "threads/barriers.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace omptool {

// What one thread uses. Never freed; a thread that ends leaves its own to the next.
struct alignas(64) Announcement {
  std::atomic<const void*> index{nullptr};  // while it is looked through
  std::atomic<const void*> record{nullptr}; // found there; written before `index` is cleared
  std::atomic<bool> taken{true};
  Announcement* next = nullptr;
};

Announcement& make_announcement();

inline thread_local constinit Announcement* the_announcement __attribute__((tls_model("initial-exec"))) = nullptr;

inline Announcement& my_announcement() {
  return the_announcement ? *the_announcement : make_announcement();
}

// What nobody can find any more, kept until nobody uses it.
class Retired {
public:
  // `address` is what users announce. The owner is given up when no thread announces it, and nothing else
  // leads there.
  void add(const void* address, std::shared_ptr<const void> owner);
  // Gives up what is unused; their destructors run without a lock.
  void collect();
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

private:
  struct Item {
    const void* address;
    std::shared_ptr<const void> owner;
  };
  bool collect_once();

  std::mutex mutex_;
  std::vector<Item> items_;
  std::atomic<std::size_t> count_{0};
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of threads, one for each, which other threads read. Never freed, so that the list can be walked at any time;
// a thread that ends passes its record to the next. Lock-free, because a child of fork() would wait forever for a lock
// that another thread held.
#pragma once

#include <atomic>

namespace omptool {

// Records of all threads, in a list. Record has `std::atomic<bool> taken{true}` and `Record* next`.
template <typename Record> class ThreadRecords {
public:
  Record* first() const { return first_.load(std::memory_order_seq_cst); }
  // Takes a record for the calling thread, until that releases it.
  Record& take() {
    for (Record* one = first(); one; one = one->next)
      if (!one->taken.exchange(true, std::memory_order_acquire))
        return *one;
    auto* const made = new Record;
    made->next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(made->next, made, std::memory_order_seq_cst))
      ;
    return *made;
  }
  static void give_back(Record& record) { record.taken.store(false, std::memory_order_release); }

private:
  std::atomic<Record*> first_{nullptr};
};

} // namespace omptool

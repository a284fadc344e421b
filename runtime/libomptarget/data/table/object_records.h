// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The records of all objects that a table has had. None is freed before the table is: those that are over are used
// again.
#pragma once

#include "data/table/object.h"
#include "small_blocks.h"
#include "threads/spin_lock.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace omptool {

class ObjectRecords {
public:
  // Returns a record that is gone.
  Object& take() {
    const std::lock_guard guard(lock_);
    if (unused_.empty())
      return *all_.emplace_back(std::make_unique<Record>(unsound_));
    Object& record = *unused_.back();
    unused_.pop_back();
    return record;
  }
  // Nobody looks at the record any more. No lock may be held.
  void recycle(Object& record) {
    record.clear();
    const std::lock_guard guard(lock_);
    unused_.push_back(&record);
  }
  // Counts the objects that are newer on the host, or that the device has no usable copy of.
  const std::atomic<std::int64_t>& unsound() const { return unsound_; }

private:
  struct Record : Object, small_blocks::Allocated {
    using Object::Object;
  };

  std::atomic<std::int64_t> unsound_{0};
  SpinLock lock_;
  std::vector<std::unique_ptr<Record>> all_;
  std::vector<Object*> unused_; // of them
};

} // namespace omptool

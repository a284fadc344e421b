// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serialises work that calls plugins. Nothing else is a turn: a thread that waits for one waits until that work is
// done, as it waits for a kernel, and held_locks.h does not count it as a lock. Unregistering a library needs no turn.
#pragma once

#include "held_locks.h"

#include <mutex>

namespace omptool {

class Turn {
public:
  void lock() {
    mutex_.lock();
    held_locks::forget(&mutex_);
  }
  void unlock() { mutex_.unlock(); }

private:
  std::mutex mutex_;
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes a lock that every thread holds for less time than the kernel needs to put a thread to sleep and to wake it.
#pragma once

#include "pause.h"

#include <mutex>

namespace omptool {

// Sleeps only where the holder has lost its core.
inline std::unique_lock<std::mutex> lock_shortly(std::mutex& mutex) {
  constexpr int kLooks = 100;
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 0; i < kLooks && !lock; ++i) {
    machine::pause();
    lock.try_lock();
  }
  if (!lock)
    lock.lock();
  return lock;
}

} // namespace omptool

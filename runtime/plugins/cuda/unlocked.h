// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the queue hold a chain's turn, and not its lock, while it calls the driver.
#pragma once

#include "operation.h"

#include <condition_variable>
#include <mutex>

namespace omptool::cuda {

// Turn: one thread's use of a chain. It begins and ends with the lock held.
class Turn {
public:
  Turn(Chain& chain, Chain::User user, std::condition_variable& changed, bool is_own = true)
      : chain_(chain), changed_(changed), is_own_(is_own) {
    chain.user = user;
  }
  ~Turn() {
    if (!is_own_)
      return;
    chain_.user = Chain::User::kNone;
    changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

private:
  Chain& chain_;
  std::condition_variable& changed_;
  const bool is_own_;
};

class Unlocked {
public:
  explicit Unlocked(std::unique_lock<std::mutex>& lock) : lock_(lock) { lock.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

private:
  std::unique_lock<std::mutex>& lock_;
};

} // namespace omptool::cuda

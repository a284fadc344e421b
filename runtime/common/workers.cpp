// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers.h"

#include <system_error>
#include <thread>
#include <utility>

namespace omptool {

bool Workers::start_thread() {
  try {
    std::thread([this]() noexcept { serve(); }).detach();
  } catch (const std::system_error&) {
    return false; // those that are there do it later
  }
  ++threads_;
  ++idle_;
  return true;
}

void Workers::run(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  waiting_.push_back(std::move(work));
  if (waiting_.size() <= idle_) {
    lock.unlock();
    more_.notify_one();
    return;
  }
  if (threads_ >= most_ || start_thread() || threads_ > 0)
    return;
  work = std::move(waiting_.back());
  waiting_.pop_back();
  lock.unlock();
  work();
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return !waiting_.empty(); });
    --idle_;
    {
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
    } // what it holds goes without the lock
    lock.lock();
    ++idle_;
  }
}

} // namespace omptool

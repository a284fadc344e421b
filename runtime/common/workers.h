// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads for work that may block: as many as there is work at once, up to a number.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace omptool {

// Never destroyed once it has run something: its threads are detached, and wait for more until the process ends. A
// child of fork() has none of them, and needs new Workers.
class Workers {
public:
  explicit Workers(unsigned most) : most_(most) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts `work`, which throws nothing, on a thread of its own while fewer than `most` have some, else when one of
  // them has ended its own, in the order of the calls. Where the system grants not even one thread, this one does it:
  // the caller holds no lock.
  void run(std::function<void()> work);

private:
  void serve();
  bool start_thread(); // with the lock held

  const unsigned most_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> waiting_;
  unsigned threads_ = 0;
  unsigned idle_ = 0; // threads that have taken nothing
};

} // namespace omptool

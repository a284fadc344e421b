// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads that run teams: one for each hardware thread but the caller's, made at first use. Any
// number of callers may run at once; each works on its own teams and the pool's threads help.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

namespace omptool::host {

// A pool that has run something is never destroyed: its threads wait for more.
class Pool {
public:
  // Calls body(context, i) once for each i in [0, count), on the calling thread and the pool's, and
  // returns when all calls have.
  void run(std::int64_t count, void (*body)(void* context, std::int64_t i), void* context);

  static unsigned hardware_threads();

private:
  struct Job {
    std::int64_t count;
    std::int64_t block;
    void (*body)(void*, std::int64_t);
    void* context;
    std::atomic<std::int64_t> next{0};
    int helpers = 0; // under the pool's lock
  };
  static void work_on(Job& job);
  void start_threads();
  void help();

  std::once_flag started_;
  std::mutex mutex_;
  std::condition_variable more_; // a job came in
  std::condition_variable done_; // a helper left a job
  std::deque<Job*> jobs_;        // those with work left, oldest first
};

} // namespace omptool::host

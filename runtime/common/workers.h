// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads for work that may block: as many as there is work at once, up to a number. One that has ended its work looks
// out for more as long as that is cheaper than to be woken.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace omptool {

// Never destroyed once it has run something: its threads wait for more until end() or the process's end. A child of
// fork() has none of them, and needs new Workers.
class Workers {
public:
  explicit Workers(unsigned most) : most_(most) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts `work`, which throws nothing, on a thread of its own while fewer than `most` have some, else when one of
  // them has ended its own, in the order of the calls. Where the system grants not even one thread, this one does it:
  // the caller holds no lock.
  void run(std::function<void()> work);

  // For a process that exits: ends the threads, and returns when they are gone; waits half a second for one that is at
  // work, and not for the caller. A thread that has run a kernel may have reserved threads of libomp's, which libomp
  // takes away with it. If it were still there when libomp ends, these could wake up in libomp's freed memory. Work
  // that comes later is the caller's.
  void end();

private:
  struct Worker {
    std::thread thread;
    bool has_ended = false;
  };

  void serve(Worker& mine);
  void look_out(std::unique_lock<std::mutex>& lock);
  bool start_thread(); // with the lock held

  const unsigned most_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable fewer_;
  std::deque<std::function<void()>> waiting_;
  std::list<Worker> all_;
  unsigned idle_ = 0;            // of those that have taken nothing
  bool has_lookout_ = false;     // one of these sees what comes first
  std::atomic<bool> any_{false}; // something is waiting; written with the lock held
  bool is_ending_ = false;
};

} // namespace omptool

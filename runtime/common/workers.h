// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads for work that may block: as many as there is work at once, up to a number. One that has ended its work looks
// out for more as long as that is cheaper than to be woken.
//
// Many threads would only fight for the locks of work that is short as a rule. So few of them can begin at once for
// such work, and one more begins when something has waited for a millisecond.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace omptool {

// Workers are never destroyed once they have run something: the threads wait for more until end() or the process's end.
// A child of fork() has none of the threads, and needs a new object.
class Workers {
public:
  explicit Workers(unsigned most) : Workers(most, most) {}
  Workers(unsigned most, unsigned at_once) : most_(most), at_once_(at_once) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts `work`, which throws nothing, on a thread of its own while fewer than `at_once` have some, else when one of
  // them has ended its own, in the order of the calls; or when it has waited, while fewer than `most` have some. Where
  // the system grants not even one thread, this one does it: the caller holds no lock.
  void run(std::function<void()> work);

  // Ends the threads of a process that exits, and returns when they are gone. Waits half a second for a busy thread,
  // and not for the caller. A thread that has run a kernel may have reserved threads of libomp, which libomp removes
  // with it. If it still existed when libomp ends, those threads could wake up in freed memory of libomp. Work that
  // arrives later runs on its caller.
  void end();

  // Returns whether the calling thread is one of these.
  bool here() const { return home_ == this; }

private:
  struct Worker {
    std::thread thread;
    bool has_ended = false;
  };

  using Lock = std::unique_lock<std::mutex>;
  enum class Role { kServes, kWatches };

  void serve(Worker& mine, Role first);
  // Require the lock, and release it while they wait:
  void look_out(Lock& lock);
  void watch(Lock& lock);
  // Require the lock:
  bool start_thread(Role first);
  bool start_watch();
  std::size_t serving() const { return all_.size() - (has_watch_ ? 1 : 0); }

  static thread_local const Workers* home_ [[gnu::tls_model("initial-exec")]];

  const unsigned most_, at_once_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable fewer_;
  std::condition_variable late_; // for the watch
  std::deque<std::function<void()>> waiting_;
  std::list<Worker> all_;
  unsigned idle_ = 0;            // threads without work
  bool has_lookout_ = false;     // one of these polls for work
  bool has_watch_ = false;       // one more thread begins when something has waited
  bool is_watching_ = false;     // it has seen that something waits
  std::uint64_t taken_ = 0;      // number of items begun so far
  std::atomic<bool> any_{false}; // something is waiting; written with the lock held
  bool is_ending_ = false;
};

} // namespace omptool

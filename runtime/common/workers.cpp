// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers.h"

#include "backoff.h"
#include "fault_signals.h"
#include "short_lock.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace omptool {

thread_local constinit const Workers* Workers::home_ = nullptr;

bool Workers::start_thread(Role first) {
  Worker& made = all_.emplace_back();
  try {
    made.thread = std::thread([this, &made, first]() noexcept { serve(made, first); });
  } catch (const std::system_error&) {
    all_.pop_back();
    return false; // those that are there do it later
  }
  first == Role::kServes ? ++idle_ : has_watch_ = true;
  return true;
}

// Starts the watch, or wakes it: work waits, and all serving threads are busy.
bool Workers::start_watch() {
  if (!has_watch_)
    return start_thread(Role::kWatches);
  if (!is_watching_)
    late_.notify_one();
  return true;
}

void Workers::run(std::function<void()> work) {
  Lock lock = lock_shortly(mutex_);
  if (!is_ending_) {
    waiting_.push_back(std::move(work));
    any_.store(true, std::memory_order_release);
    if (waiting_.size() <= idle_) {
      const bool is_seen = has_lookout_ && waiting_.size() == 1;
      lock.unlock();
      if (!is_seen)
        more_.notify_one();
      return;
    }
    if (serving() >= most_ || (serving() < at_once_ ? start_thread(Role::kServes) : start_watch()) || !all_.empty())
      return;
    work = std::move(waiting_.back());
    waiting_.pop_back();
    any_.store(!waiting_.empty(), std::memory_order_release);
  }
  lock.unlock();
  work();
}

void Workers::serve(Worker& mine, Role first) {
  receive_fault_signals();
  home_ = this;
  Lock lock(mutex_);
  if (first == Role::kWatches)
    watch(lock);
  for (bool has_worked = false;; has_worked = true) {
    if (has_worked && waiting_.empty() && !is_ending_ && !has_lookout_)
      look_out(lock);
    more_.wait(lock, [this] { return !waiting_.empty() || is_ending_; });
    --idle_;
    if (waiting_.empty())
      break;
    {
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      ++taken_;
      any_.store(!waiting_.empty(), std::memory_order_release);
      if (waiting_.size() > idle_ && serving() >= at_once_ && serving() < most_ && !is_ending_)
        start_watch();
      lock.unlock();
      work();
    } // what it holds goes without the lock
    lock = lock_shortly(mutex_);
    ++idle_;
  }
  mine.has_ended = true;
  fewer_.notify_one();
}

// Returns when something has waited for that long, or when the threads are to end.
void Workers::watch(Lock& lock) {
  constexpr std::chrono::milliseconds kLate{1};
  for (std::uint64_t taken = taken_ - 1; !is_ending_ && (waiting_.empty() || taken_ != taken);) {
    is_watching_ = false;
    late_.wait(lock, [this] { return !waiting_.empty() || is_ending_; });
    is_watching_ = true;
    taken = taken_;
    late_.wait_for(lock, kLate, [this] { return is_ending_; });
  }
  has_watch_ = is_watching_ = false;
  ++idle_;
}

// Waits a while without the lock: it is not woken for what comes then.
void Workers::look_out(Lock& lock) {
  has_lookout_ = true;
  lock.unlock();
  for (Backoff backoff; !any_.load(std::memory_order_acquire) && backoff.look_again();) {
  }
  lock = lock_shortly(mutex_);
  has_lookout_ = false;
}

void Workers::end() {
  constexpr auto kPatience = std::chrono::milliseconds(500);
  const auto is_done = [](const Worker& worker) {
    return worker.has_ended || worker.thread.get_id() == std::this_thread::get_id();
  };
  std::list<Worker> ended;
  {
    Lock lock(mutex_);
    is_ending_ = true;
    more_.notify_all();
    late_.notify_all();
    fewer_.wait_for(lock, kPatience, [&] { return std::all_of(all_.begin(), all_.end(), is_done); });
    for (auto at = all_.begin(); at != all_.end();) {
      const auto worker = at++;
      if (worker->has_ended)
        ended.splice(ended.end(), all_, worker);
      else if (worker->thread.joinable())
        worker->thread.detach();
    }
  }
  for (Worker& worker : ended)
    if (worker.thread.joinable())
      worker.thread.join();
}

} // namespace omptool

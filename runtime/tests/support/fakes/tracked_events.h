// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes chosen events fail for a fake, on top of the host plugin's results.
#pragma once

#include "forward.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

class TrackedEvents {
public:
  void set_callback(tgt_callback_fct callback) {
    const std::lock_guard lock(mutex_);
    callback_ = callback;
  }

  // Returns whether all entries are events that are not released, or NULL.
  bool are_live(std::int32_t count, const tgt_event_t* events) {
    const std::lock_guard lock(mutex_);
    for (std::int32_t i = 0; i < count; ++i)
      if (const auto at = all_.find(events[i]); events[i] && (at == all_.end() || at->second.released))
        return false;
    return true;
  }
  bool any_fails(std::int32_t count, const tgt_event_t* events) {
    const std::lock_guard lock(mutex_);
    for (std::int32_t i = 0; i < count; ++i)
      if (const auto at = all_.find(events[i]); at != all_.end() && at->second.fails)
        return true;
    return false;
  }

  // Adds an event after the call that made it has returned, perhaps when it is done already.
  void add(tgt_event_t event, bool fails) {
    const std::lock_guard lock(mutex_);
    Known& known = all_[event];
    known.fails = fails;
    known.added = true;
    added_.notify_all();
  }
  // Completes an event. The host plugin calls this with its lock held, so that it cannot be called from here.
  void complete(tgt_event_t event) {
    const std::lock_guard lock(mutex_);
    Known& known = all_[event];
    known.done = true;
    if (known.released)
      left_.push_back(event);
    else if (callback_)
      callback_(event);
  }
  // `result`, unless the event is to fail or is not there.
  std::int32_t result(tgt_event_t event, std::int32_t result) {
    std::unique_lock lock(mutex_);
    const auto at = all_.find(event);
    if (at == all_.end() || at->second.released)
      return 1;
    added_.wait(lock, [&] { return at->second.added; });
    return result == 0 && at->second.fails ? 1 : result;
  }
  // Releases an event. The host plugin keeps it until it is done, because it has to report that.
  void release(tgt_event_t event) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = all_.find(event);
      if (at == all_.end() || at->second.released)
        return;
      at->second.released = true;
      if (at->second.done)
        left_.push_back(event);
    }
    release_left();
  }
  void release_left() {
    std::vector<tgt_event_t> gone;
    {
      const std::lock_guard lock(mutex_);
      gone.swap(left_);
      for (const tgt_event_t event : gone)
        all_.erase(event);
    }
    for (const tgt_event_t event : gone)
      HOST(__tgt_rtl_release_dep)(event);
  }

private:
  struct Known {
    bool added = false;
    bool fails = false;
    bool done = false;
    bool released = false;
  };
  std::mutex mutex_;
  std::condition_variable added_;
  tgt_callback_fct callback_ = nullptr;
  std::map<tgt_event_t, Known> all_;
  std::vector<tgt_event_t> left_; // done and released here, not there
};

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of the asynchronous functions: each starts, on a thread of its own, when those that it depends on have
// completed. omptarget_rtl.h says what streams and events are.
#pragma once

#include "event.h"
#include "workers.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace omptool::host {

// Of one process; its threads wait for more until that ends.
class Queue {
public:
  explicit Queue(unsigned most_in_flight) : workers_(most_in_flight) {}

  // These return 0, or what fail() does. An event that is unknown or released is a failure.
  std::int32_t add(std::span<const tgt_event_t> dependences, Body body, tgt_event_t& made);
  std::int32_t release(tgt_event_t event);
  // Also runs what the event waits for, where no other thread has begun to.
  std::int32_t wait(tgt_event_t event);
  std::int32_t query(tgt_event_t event); // or OMPTARGET_RTL_PENDING
  bool is_live(tgt_event_t event);
  void end() { workers_.end(); } // for a process that exits

  static void set_callback(tgt_callback_fct callback) { callback_ = callback; }

private:
  using Lock = std::unique_lock<std::mutex>;
  using Ready = std::vector<Event*>;

  // With the lock held.
  Event* find(std::uintptr_t id) const;
  Event* live(tgt_event_t event) const; // or null, and fail()
  static void let_wait(Event& event, Event& before, bool needs_success);
  void proceed(Event& first, Ready& ready);
  void complete(Event& event, std::vector<Event*>& free);
  static Event* ready_before(Event& event);
  // These give it up in between.
  void run(Event& event, Lock& lock, Ready& ready);
  void hand_out(const Ready& ready, Event* except, Lock& lock);

  void run_on_worker(std::uintptr_t id);

  static std::atomic<tgt_callback_fct> callback_;
  static std::atomic<std::uintptr_t> made_; // in a child of fork() no event has a number of its parent's

  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Event>> events_; // not done, or not released
  Workers workers_;
};

} // namespace omptool::host

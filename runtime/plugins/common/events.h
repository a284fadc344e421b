// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events of the asynchronous functions; omptarget_rtl.h defines them. A plugin has one table of events, and one lock,
// which also guards all other data about the plugin's operations.
#pragma once

#include "number_map.h"
#include "omptarget_rtl.h"
#include "short_lock.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace omptool::plugin {

// Dependences of an asynchronous function, and the place for the event that it makes.
struct Dependences {
  std::span<const tgt_event_t> before; // some of them null
  tgt_event_t& made;
};

// The event of an operation. A plugin that keeps more of the operation derives a class from this one.
struct Event {
  Event();
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  tgt_event_t handle() const { return reinterpret_cast<tgt_event_t>(number); }

  const std::uintptr_t number; // never that of another event, in this process or in its parents
  // Guarded by the lock of the table.
  bool is_done = false;
  bool is_released = false;
  std::string failure;  // why it fails, or ""; final once it is done
  bool is_lost = false; // the device is, and that is why it failed

  bool has_failed() const { return is_done && !failure.empty(); }
};
using EventPtr = std::shared_ptr<Event>;

// Returns 0, or for a failed event the result of calls that ask for it, with last_error set.
std::int32_t result_of(const Event& event);

// Table of the events of one process. A child of fork() has its own table, without the parent's events.
class Events {
public:
  using Lock = std::unique_lock<std::mutex>;
  Lock lock() { return lock_shortly(mutex_); }

  // Requires the lock. Returns null, with last_error set, if the event is released or belongs to another plugin.
  template <typename Operation = Event> std::shared_ptr<Operation> find(tgt_event_t event) const {
    const EventPtr* const known = find_event(event);
    return known ? std::static_pointer_cast<Operation>(*known) : nullptr;
  }
  // Looks up an event as find() does. The pointer is valid as long as the lock is held.
  template <typename Operation> const Operation* look_up(tgt_event_t event) const {
    const EventPtr* const known = find_event(event);
    return known ? static_cast<const Operation*>(known->get()) : nullptr;
  }
  // Requires the lock. find() returns the event from now on, until release().
  void add(const EventPtr& event) { events_[event->number] = event; }
  // Requires the lock. Marks the operation as complete, by success or by the event's failure, and calls back once.
  void end(Event& event, bool is_lost);

  // Releases the event; its operation continues. Returns 0, or 1 with last_error set.
  std::int32_t release(tgt_event_t event);
  bool is_live(tgt_event_t event);

  static void set_callback(tgt_callback_fct callback);

private:
  const EventPtr* find_event(tgt_event_t event) const;

  std::mutex mutex_;
  NumberMap<EventPtr> events_; // not done, or not released
};

} // namespace omptool::plugin

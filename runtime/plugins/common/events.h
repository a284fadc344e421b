// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The events of the asynchronous functions: omptarget_rtl.h says what they are. A plugin has one table of them, and one
// lock, which is that of all that the plugin keeps of its operations, too.
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

// The order that an asynchronous function gets, and the place of the event that it makes.
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
  // Under the lock of the table.
  bool is_done = false;
  bool is_released = false;
  std::string failure;  // why it fails, or ""; final once it is done
  bool is_lost = false; // the device is, and that is why it failed

  bool has_failed() const { return is_done && !failure.empty(); }
};
using EventPtr = std::shared_ptr<Event>;

// 0, or what a call returns that asks for an event which has failed, with last_error set.
std::int32_t result_of(const Event& event);

// A process has one. A child of fork() has a table of its own, in which no event of its parent's is.
class Events {
public:
  using Lock = std::unique_lock<std::mutex>;
  Lock lock() { return lock_shortly(mutex_); }

  // With the lock held. Null, with last_error set: the event is released, or none of this plugin's.
  template <typename Operation = Event> std::shared_ptr<Operation> find(tgt_event_t event) const {
    const EventPtr* const known = find_event(event);
    return known ? std::static_pointer_cast<Operation>(*known) : nullptr;
  }
  // Looks up an event as find() does. The pointer is valid as long as the lock is held.
  template <typename Operation> const Operation* look_up(tgt_event_t event) const {
    const EventPtr* const known = find_event(event);
    return known ? static_cast<const Operation*>(known->get()) : nullptr;
  }
  // With the lock held. From now on it is found, and valid until release().
  void add(const EventPtr& event) { events_[event->number] = event; }
  // With the lock held: the operation has completed, well or with the event's failure, which is called back once.
  void end(Event& event, bool is_lost);

  // The operation goes on. 0, or 1, with last_error set.
  std::int32_t release(tgt_event_t event);
  bool is_live(tgt_event_t event);

  static void set_callback(tgt_callback_fct callback);

private:
  const EventPtr* find_event(tgt_event_t event) const;

  std::mutex mutex_;
  NumberMap<EventPtr> events_; // not done, or not released
};

} // namespace omptool::plugin

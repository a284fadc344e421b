// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "events.h"

#include "calls.h"

#include <atomic>
#include <utility>

namespace omptool::plugin {
namespace {

constinit std::atomic<tgt_callback_fct> the_callback{nullptr};
constinit std::atomic<std::uintptr_t> events_made{0}; // a child of fork() goes on from here

} // namespace

Event::Event() : number(++events_made) {}

std::int32_t result_of(const Event& event) {
  if (event.failure.empty())
    return 0;
  fail(event.failure);
  return event.is_lost ? OMPTARGET_RTL_DEVICE_LOST : 1;
}

const EventPtr* Events::find_event(tgt_event_t event) const {
  const auto number = reinterpret_cast<std::uintptr_t>(event);
  if (const EventPtr* const known = events_.find(number); known && !(*known)->is_released)
    return known;
  fail("event " + std::to_string(number) + " is released, or none of this plugin's");
  return nullptr;
}

void Events::end(Event& event, bool is_lost) {
  event.is_done = true;
  event.is_lost = is_lost;
  if (event.is_released)
    events_.take(event.number);
  else if (const tgt_callback_fct callback = the_callback)
    callback(event.handle());
}

std::int32_t Events::release(tgt_event_t event) {
  EventPtr gone; // without the lock
  const Lock held = lock();
  const EventPtr* const known = find_event(event);
  if (!known)
    return 1;
  (*known)->is_released = true;
  if ((*known)->is_done)
    gone = events_.take((*known)->number);
  return 0;
}

bool Events::is_live(tgt_event_t event) {
  const Lock held = lock();
  return find_event(event) != nullptr;
}

void Events::set_callback(tgt_callback_fct callback) {
  the_callback = callback;
}

} // namespace omptool::plugin

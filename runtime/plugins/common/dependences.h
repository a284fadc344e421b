// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments by which each asynchronous function is told of the order.
#pragma once

#include "calls.h"
#include "events.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace omptool::plugin {

struct OrderArguments {
  std::int32_t count;
  tgt_event_t* events;
  tgt_event_t* made;
};

// What `add(dependences)` returns; fails where the call has no place for them.
template <typename Add> std::int32_t in_order(const OrderArguments& all, const Add& add) {
  if (all.count < 0 || (all.count > 0 && !all.events) || !all.made)
    return fail("a call with " + std::to_string(all.count) + " dependences, and no place for them or for its event");
  return add(Dependences{std::span(all.events, static_cast<std::size_t>(all.count)), *all.made});
}

// Asks `queue` for the event: wait(), or look_at(), with the lock of `events`.
template <typename Operation, typename Ask> std::int32_t ask_event(Events& events, tgt_event_t event, const Ask& ask) {
  Events::Lock lock = events.lock();
  const std::shared_ptr<Operation> operation = events.find<Operation>(event);
  if (!operation)
    return 1;
  ask(operation, lock);
  return operation->is_done ? result_of(*operation) : OMPTARGET_RTL_PENDING;
}

} // namespace omptool::plugin

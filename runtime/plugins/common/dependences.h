// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of each asynchronous function's arguments that tells the order.
#pragma once

#include "calls.h"
#include "omptarget_rtl.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace omptool {

struct Dependences {
  std::int32_t count;
  tgt_event_t* events;
  tgt_event_t* made;
};

// Returns what `add(events, made)` returns; fails where the call has no place for them.
template <typename Add> std::int32_t in_order(const Dependences& all, const Add& add) {
  if (all.count < 0 || (all.count > 0 && !all.events) || !all.made)
    return fail("a call with " + std::to_string(all.count) + " dependences, and no place for them or for its event");
  return add(std::span(all.events, static_cast<std::size_t>(all.count)), *all.made);
}

} // namespace omptool

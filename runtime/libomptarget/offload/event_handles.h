// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The events that programs hold (decision 25): numbers that are never used twice, so that what has been released, or
// never was an event of this runtime's, is known for what it is. Any thread may use any of them.
#pragma once

#include "rtl/event.h"

#include <string>

namespace omptool::event_handles {

// A new one, the program's until it releases it.
tgt_event_t add(EventPtr event);

struct Found {
  EventPtr event; // null: there is nothing to wait for, or `fault` says what is wrong with the handle
  std::string fault;
};
// NULL, and what a child of fork() has from its parent, are events that have happened. `takes`: the program has no more
// use for it.
Found find(tgt_event_t handle, bool takes = false);

} // namespace omptool::event_handles

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps what a program has of its asynchronous calls: the events that it holds, and the callbacks that it gets. When
// the process exits it waits for those that have not ended. A child of fork() has none.
#pragma once

#include "omptarget.h"
#include "rtl/event.h"

#include <functional>
#include <string>

namespace omptool::outstanding {

// An event that the program holds (decision 25) is a number that is never used twice, so that what has been released,
// or never was an event of this runtime's, is known for what it is. Any thread may use any of them.

// A new one, the program's until it releases it.
tgt_event_t add_handle(EventPtr event);

struct Found {
  EventPtr event; // null: there is nothing to wait for, or `fault` says what is wrong with the handle
  std::string fault;
};
// NULL, and what a child of fork() has from its parent, are events that have happened. `takes`: the program has no more
// use for it.
Found find_event(tgt_event_t handle, bool takes = false);

// Whom to call when a call with a parameter has ended; null: nobody.
void set_callback(tgt_callback_fct callback);

// The program's callback for the end of a call, as it is when the call is made; empty: nobody is called.
using Callback = std::function<void()>;
Callback callback_for(tgt_callback_param_t param);

// A call has been taken on.
void begin();
// It has ended, or has been refused after all; its callback runs on a worker. No lock is held.
void end(const Callback& callback = {});

// Lets plugins make progress, and waits a moment for it. Returns whether anything is outstanding: calls, or callbacks
// unless this is called in one.
bool process();

} // namespace omptool::outstanding

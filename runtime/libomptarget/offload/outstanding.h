// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The asynchronous calls that have not ended, and what the program hears of their ends. When the process exits it
// waits for them. A child of fork() has none.
#pragma once

#include "omptarget.h"

#include <functional>

namespace omptool::outstanding {

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

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The asynchronous calls that have not ended, and what the program hears of their ends. When the process exits it
// waits for them. A child of fork() has none.
#pragma once

#include "omptarget.h"

namespace omptool::outstanding {

// Whom to call when a call with a parameter has ended; null: nobody.
void set_callback(tgt_callback_fct callback);

// The program's callback for the end of a call, as it was when the call was made.
class Callback {
public:
  explicit Callback(tgt_callback_param_t param);
  explicit operator bool() const { return function_ && param_; }
  void operator()() const { function_(param_); }

private:
  tgt_callback_fct function_;
  tgt_callback_param_t param_;
};

// A call has been taken on.
void begin();
// It has ended; its callback runs on a worker. No lock is held.
void end(const Callback& callback);
// It has been refused after all.
void withdraw();

// Lets plugins make progress, and waits a moment for it. Returns whether anything is outstanding: calls, or callbacks
// unless this is called in one.
bool process();

} // namespace omptool::outstanding

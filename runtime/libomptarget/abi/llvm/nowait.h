// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks of libomp's whose region goes on when the task's function has returned: libomp keeps a handle in the task, and
// asks from time to time whether it is done (__tgt_target_nowait_query). So more regions overlap than libomp has
// threads for them.
#pragma once

#include "rtl/event.h"

namespace omptool::llvm {

// Returns where the task that runs on this thread has its handle. Null: the operations of the call have to end before
// it returns.
void** nowait_handle();
// The task is over when the event has happened; at once without one.
void leave(void** handle, EventPtr event);
// Sets the handle to null if it is; waits a moment for that.
void query(void** handle);

} // namespace omptool::llvm

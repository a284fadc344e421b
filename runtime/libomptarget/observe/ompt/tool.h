// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tool of the process: shared by the two finders of the tool and the listener that calls it.
#pragma once

#include "observe/ompt/abi.h"

namespace omptool::ompt {

extern Callbacks callbacks;

// Task data of the tool. Null: there is no way to look it up, and the tool gets none.
struct TaskData {
  Data* (*task)() = nullptr;
  Data* (*target_task)() = nullptr;
};

// Tells the tool of what happens from now on. Its callbacks are set, or it sets them later.
void attach(const TaskData& tasks);
// Detaches the tool, which has ended.
void detach();

} // namespace omptool::ompt

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process's tool, as the two that find it and the one that tells it know it.
#pragma once

#include "observe/ompt/abi.h"

namespace omptool::ompt {

extern Callbacks callbacks;

// Finds the tool's data of tasks. Null: nobody knows them, and the tool gets none.
struct TaskData {
  Data* (*task)() = nullptr;
  Data* (*target_task)() = nullptr;
};

// Tells the tool of what happens from now on. Its callbacks are set, or it sets them later.
void attach(const TaskData& tasks);
// The tool has ended.
void detach();

} // namespace omptool::ompt

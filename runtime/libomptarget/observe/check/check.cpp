// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/check/check.h"

#include "observe/check/findings.h"
#include "observe/events/sink.h"

namespace omptool::check {

void start() {
  if (level() == Level::kNone)
    return;
}

} // namespace omptool::check

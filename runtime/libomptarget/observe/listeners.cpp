// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/listeners.h"

#include "observe/events/sink.h"
#include "observe/ompt/connection.h"
#include "observe/report.h"
#include "observe/summary.h"
#include "observe/trace/trace.h"
#include "observe/watchdog.h"

namespace omptool::observe {

void find_listeners() {
  if (!decide())
    return;
  report_regions();
  watch_kernels();
  trace::start();
  summarize();
  ompt::connect();
}

void start_tools() {
  if (the_sink.load(std::memory_order_acquire) & kUndecided)
    ompt::connect();
}

} // namespace omptool::observe

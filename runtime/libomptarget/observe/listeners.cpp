// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "observe/listeners.h"

#include "observe/check/check.h"
#include "observe/check/full/full.h"
#include "observe/events/sink.h"
#include "observe/ompt/connection.h"
#include "observe/report.h"
#include "observe/summary.h"
#include "observe/trace/trace.h"
#include "observe/watchdog.h"
#include "process/per_process.h"

#include <mutex>

namespace omptool::observe {
namespace {

struct Decision {
  std::mutex mutex;
};

} // namespace

void find_listeners() {
  if (!is_undecided())
    return;
  {
    // Other threads wait for the answer: nobody would hear of a construct that begins before.
    const std::lock_guard lock(PerProcess<Decision>::get().mutex);
    if (!is_undecided())
      return;
    report_regions();
    watch_kernels();
    trace::start();
    check::start();
    check::start_full();
    summarize();
    decided();
  }
  ompt::connect(); // without the lock: a tool may make calls
}

void start_tools() {
  if (is_undecided())
    ompt::connect();
}

} // namespace omptool::observe

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/check.h"
#include "check/full/full.h"
#include "core.h"
#include "report.h"
#include "summary/summary.h"
#include "trace/trace.h"
#include "watchdog.h"

namespace omptool::observe {
namespace {

class All final : public Observers {
public:
  void start_early() override {
    report_regions();
    summarize(core().spreads_regions);
  }
  void start() override {
    report_regions();
    watch_kernels(core().kernel_timeout);
    trace::start();
    check::start();
    check::start_full(reinterpret_cast<const void*>(core().subscribe));
    summarize(core().spreads_regions);
  }
  MemoryGuard* memory_guard() override { return check::memory_guard(); }
  void finish() override {
    trace::finish();
    report_summary();
    report_loaded_files();
  }
};
constinit All all;

} // namespace

// Opens the observers: the library's one function, whose name is in observers.h.
extern "C" [[gnu::visibility("default")]] Observers* omptool_observe_open(const Core& core) {
  return take_core(core) ? &all : nullptr;
}

} // namespace omptool::observe

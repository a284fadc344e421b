// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/outstanding.h"

#include "process/per_process.h"
#include "rtl/completions.h"
#include "rtl/core_workers.h"
#include "threads/hazard_pointers.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <mutex>

namespace omptool::outstanding {
namespace {

struct Counts {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t calls = 0;
  std::size_t callbacks = 0; // of ended calls, waiting or running
};

std::atomic<tgt_callback_fct> the_callback{nullptr};
thread_local bool in_callback [[gnu::tls_model("initial-exec")]] = false;

bool is_in_region() {
  return hazard_pointer_here && hazard_pointer_here->record.load(std::memory_order_relaxed);
}

// A kernel or a callback that calls exit() would wait for its own end.
void wait_at_exit() {
  Counts* const counts = PerProcess<Counts>::known();
  if (!counts || core_workers::here() || is_in_region() || Completions::any_kernel_here())
    return;
  {
    std::unique_lock lock(counts->mutex);
    counts->changed.wait(lock, [&] { return counts->calls == 0 && counts->callbacks == 0; });
  }
  core_workers::end();
}

// A child of fork() has nothing to wait for.
Counts& counts() {
  static std::atomic<bool> is_watching{false};
  if (!is_watching.exchange(true))
    std::atexit(wait_at_exit);
  return PerProcess<Counts>::get();
}

void call_back(Counts& counted, const Callback& callback) {
  in_callback = true;
  callback();
  in_callback = false;
  if (PerProcess<Counts>::known() != &counted)
    return; // a child of fork()
  const std::lock_guard lock(counted.mutex);
  --counted.callbacks;
  counted.changed.notify_all();
}

} // namespace

void set_callback(tgt_callback_fct callback) {
  the_callback = callback;
}

Callback callback_for(tgt_callback_param_t param) {
  const tgt_callback_fct callback = the_callback;
  return callback && param ? [callback, param] { callback(param); } : Callback();
}

void begin() {
  Counts& all = counts();
  const std::lock_guard lock(all.mutex);
  ++all.calls;
}

void end(const Callback& callback) {
  Counts& all = counts();
  {
    const std::lock_guard lock(all.mutex);
    --all.calls;
    if (callback)
      ++all.callbacks;
    all.changed.notify_all();
  }
  if (callback)
    core_workers::finish([&all, callback] { call_back(all, callback); });
}

bool process() {
  constexpr std::chrono::microseconds kMoment{100};
  Counts& all = counts();
  Completions::progress_all();
  const auto over = [&] { return all.calls == 0 && (in_callback || all.callbacks == 0); };
  std::unique_lock lock(all.mutex);
  return !all.changed.wait_for(lock, kMoment, over);
}

} // namespace omptool::outstanding

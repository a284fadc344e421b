// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/outstanding.h"

#include "number_map.h"
#include "process/per_process.h"
#include "rtl/completions.h"
#include "rtl/core_workers.h"
#include "short_lock.h"
#include "threads/hazard_pointers.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace omptool::outstanding {
namespace {

// No address begins with these bits, so that a pointer is never taken for a handle.
constexpr std::uintptr_t kMark = std::uintptr_t{0x7e17} << 48;
constexpr std::uintptr_t kMarkBits = ~std::uintptr_t{0} << 48;

std::atomic<std::uintptr_t> last_handle{0}; // that was given out, by this process or one before it

void wait_at_exit();

// The calls, callbacks and events of one process. A child of fork() has nothing to wait for.
struct Outstanding {
  Outstanding() { std::atexit(wait_at_exit); }

  std::mutex mutex;
  std::condition_variable changed;
  std::ptrdiff_t calls = 0;
  std::ptrdiff_t callbacks = 0; // of ended calls, waiting or running
  NumberMap<EventPtr> events;
  const std::uintptr_t inherited = last_handle; // that a process before this one gave out
};

std::uintptr_t number_of(tgt_event_t handle) {
  return reinterpret_cast<std::uintptr_t>(handle) - kMark;
}

// Of one that is not among the events.
std::string fault_of(const Outstanding& all, tgt_event_t handle) {
  const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(handle);
  const bool is_ours = (bits & kMarkBits) == kMark && number_of(handle) > 0 && number_of(handle) <= last_handle;
  if (!handle || (is_ours && number_of(handle) <= all.inherited))
    return {};
  char text[64];
  std::snprintf(text, sizeof text, "%p %s", handle, is_ours ? "has been released" : "is no event of this runtime");
  return text;
}

std::atomic<tgt_callback_fct> the_callback{nullptr};
thread_local bool in_callback [[gnu::tls_model("initial-exec")]] = false;

// A kernel or a callback that calls exit() would wait for its own end.
void wait_at_exit() {
  Outstanding* const all = PerProcess<Outstanding>::known();
  const bool is_in_region = hazard_pointer_here && hazard_pointer_here->record.load(std::memory_order_relaxed);
  if (!all || core_workers::here() || is_in_region || Completions::any_kernel_here())
    return;
  {
    std::unique_lock lock(all->mutex);
    all->changed.wait(lock, [&] { return all->calls == 0 && all->callbacks == 0; });
  }
  core_workers::end();
}

void count(Outstanding& all, std::ptrdiff_t calls, std::ptrdiff_t callbacks) {
  const std::unique_lock lock = lock_shortly(all.mutex);
  all.calls += calls;
  all.callbacks += callbacks;
  if (all.calls == 0) // else nobody's wait is over
    all.changed.notify_all();
}

void call_back(Outstanding& all, const Callback& callback) {
  in_callback = true;
  callback();
  in_callback = false;
  if (PerProcess<Outstanding>::known() == &all) // not in a child of fork()
    count(all, 0, -1);
}

} // namespace

// ---- events ----

tgt_event_t add_handle(EventPtr event) {
  Outstanding& all = PerProcess<Outstanding>::get();
  const std::unique_lock lock = lock_shortly(all.mutex);
  const std::uintptr_t number = ++last_handle;
  all.events[number] = std::move(event);
  return reinterpret_cast<tgt_event_t>(kMark + number);
}

Found find_event(tgt_event_t handle, bool takes) {
  Found found; // what was taken goes without the lock
  Outstanding& all = PerProcess<Outstanding>::get();
  const std::unique_lock lock = lock_shortly(all.mutex);
  if (const EventPtr* const known = all.events.find(number_of(handle)); !known)
    found.fault = fault_of(all, handle);
  else
    found.event = takes ? all.events.take(number_of(handle)) : *known;
  return found;
}

// ---- calls ----

void set_callback(tgt_callback_fct callback) {
  the_callback = callback;
}

Callback callback_for(tgt_callback_param_t param) {
  const tgt_callback_fct callback = the_callback;
  return callback && param ? [callback, param] { callback(param); } : Callback();
}

void begin() {
  count(PerProcess<Outstanding>::get(), 1, 0);
}

void end(const Callback& callback) {
  Outstanding& all = PerProcess<Outstanding>::get();
  count(all, -1, callback ? 1 : 0);
  if (callback)
    core_workers::finish([&all, callback] { call_back(all, callback); });
}

bool process() {
  constexpr std::chrono::microseconds kMoment{100};
  Outstanding& all = PerProcess<Outstanding>::get();
  Completions::progress_all();
  const auto over = [&] { return all.calls == 0 && (in_callback || all.callbacks == 0); };
  std::unique_lock lock(all.mutex);
  return !all.changed.wait_for(lock, kMoment, over);
}

} // namespace omptool::outstanding

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the host plugin with the nine asynchronous functions and none beside them. It reports completed events in
// __tgt_rtl_process_dep only.
#include "queued_calls.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace {

std::atomic<tgt_callback_fct> told{nullptr};
std::mutex mutex;
std::vector<tgt_event_t>& completed() { // and not called back yet; under the lock
  static std::vector<tgt_event_t>& all = *new std::vector<tgt_event_t>;
  return all;
}

std::int32_t queue(const Operation& operation) {
  return operation.forward();
}

} // namespace

FAKE_EXPORT void __tgt_rtl_init_dep(tgt_callback_fct callback) {
  told = callback;
  HOST(__tgt_rtl_init_dep)([](tgt_event_t event) {
    const std::lock_guard lock(mutex);
    completed().push_back(event);
  });
}
FAKE_EXPORT int32_t __tgt_rtl_process_dep(void) {
  const std::lock_guard lock(mutex);
  for (const tgt_event_t event : completed())
    if (const tgt_callback_fct callback = told)
      callback(event);
  completed().clear();
  return 1;
}
FAKE_EXPORT void __tgt_rtl_release_dep(tgt_event_t event) {
  HOST(__tgt_rtl_release_dep)(event);
  const std::lock_guard lock(mutex);
  std::erase(completed(), event);
}
FAKE_EXPORT int32_t __tgt_rtl_enforce_dep(int32_t from, int32_t to, tgt_event_t event) {
  return HOST(__tgt_rtl_enforce_dep)(from, to, event);
}

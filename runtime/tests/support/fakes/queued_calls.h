// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The five asynchronous functions that queue an operation, for fakes that do something around each. A fake that
// includes this defines
//
//   std::int32_t queue(const Operation& operation);
//
// which calls operation.forward() for what the host plugin does.
#pragma once

#include "forward.h"

#include <cstdint>
#include <functional>
#include <string>

namespace {

struct Operation {
  const char* name;
  std::string shape; // of teams, where it runs
  std::int32_t device;
  std::int32_t count; // of dependences
  tgt_event_t* dependences;
  tgt_event_t* made;
  std::function<std::int32_t()> forward;
};
std::int32_t queue(const Operation& operation);

} // namespace

FAKE_EXPORT int32_t __tgt_rtl_async_dep(int32_t device, int32_t count, tgt_event_t* dependences, tgt_event_t* made) {
  return queue({"dep", "", device, count, dependences, made,
                [=] { return HOST(__tgt_rtl_async_dep)(device, count, dependences, made); }});
}
FAKE_EXPORT int32_t __tgt_rtl_async_data_submit(int32_t device, void* target, void* host, int64_t size, int32_t count,
                                                tgt_event_t* dependences, tgt_event_t* made) {
  return queue({"data_submit", "", device, count, dependences, made, [=] {
                  return HOST(__tgt_rtl_async_data_submit)(device, target, host, size, count, dependences, made);
                }});
}
FAKE_EXPORT int32_t __tgt_rtl_async_data_retrieve(int32_t device, void* host, void* target, int64_t size, int32_t count,
                                                  tgt_event_t* dependences, tgt_event_t* made) {
  return queue({"data_retrieve", "", device, count, dependences, made, [=] {
                  return HOST(__tgt_rtl_async_data_retrieve)(device, host, target, size, count, dependences, made);
                }});
}
FAKE_EXPORT int32_t __tgt_rtl_async_run_target_region(int32_t device, void* entry, void** arguments,
                                                      int32_t argument_count, int32_t count, tgt_event_t* dependences,
                                                      tgt_event_t* made) {
  return queue({"run", "alone", device, count, dependences, made, [=] {
                  return HOST(__tgt_rtl_async_run_target_region)(device, entry, arguments, argument_count, count,
                                                                 dependences, made);
                }});
}
FAKE_EXPORT int32_t __tgt_rtl_async_run_target_team_region(int32_t device, void* entry, void** arguments,
                                                           int32_t argument_count, int32_t teams, int32_t threads,
                                                           int32_t count, tgt_event_t* dependences, tgt_event_t* made) {
  return queue({"run", "teams " + std::to_string(teams) + " threads " + std::to_string(threads), device, count,
                dependences, made, [=] {
                  return HOST(__tgt_rtl_async_run_target_team_region)(device, entry, arguments, argument_count, teams,
                                                                      threads, count, dependences, made);
                }});
}

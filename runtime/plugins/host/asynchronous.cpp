// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The asynchronous functions of omptarget_rtl.h.
#include "common/dependences.h"
#include "host.h"

#include <utility>

namespace omptool::host {
namespace {

std::int32_t add(const plugin::OrderArguments& all, Body body) {
  return plugin::in_order(all,
                          [&](const plugin::Dependences& order) { return host().queue.add(order, std::move(body)); });
}

// Queues what `make(device)` returns, if anything; `refused` is the result otherwise.
template <typename Make>
std::int32_t queued(std::int32_t device_id, std::int32_t refused, const plugin::OrderArguments& all, Make make) {
  return guarded(device_id, 1, [&](Device& device) {
    Body body = make(device);
    return body ? add(all, std::move(body)) : refused;
  });
}

} // namespace
} // namespace omptool::host

using omptool::safely;
using omptool::host::Device;
using omptool::host::guarded;
using omptool::host::host;
using omptool::host::Operation;
using omptool::host::queued;

OMPTOOL_RTL_EXPORT void __tgt_rtl_init_dep(tgt_callback_fct completion_callback) {
  omptool::plugin::Events::set_callback(completion_callback);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_enforce_dep(int32_t from_device_id, int32_t to_device_id,
                                                 tgt_event_t completion_event) {
  const auto answer = [&](Device&) { return host().events.is_live(completion_event); };
  return guarded(from_device_id, 0, [&](Device&) -> int32_t { return guarded(to_device_id, 0, answer); });
}

OMPTOOL_RTL_EXPORT void __tgt_rtl_release_dep(tgt_event_t completion_event) {
  safely(1, [&] { return host().events.release(completion_event); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_process_dep(void) {
  return 0; // the threads get on by themselves
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_dep(int32_t device_id, int32_t num_dep_events, tgt_event_t* dep_events,
                                               tgt_event_t* completion_event) {
  return guarded(device_id, 1,
                 [&](Device&) { return omptool::host::add({num_dep_events, dep_events, completion_event}, {}); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_submit(int32_t device_id, void* target_ptr, void* host_ptr,
                                                       int64_t size, int32_t num_dep_events, tgt_event_t* dep_events,
                                                       tgt_event_t* completion_event) {
  return queued(device_id, 1, {num_dep_events, dep_events, completion_event},
                [&](Device& device) { return device.later_copy(target_ptr, host_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr,
                                                         int64_t size, int32_t num_dep_events, tgt_event_t* dep_events,
                                                         tgt_event_t* completion_event) {
  return queued(device_id, 1, {num_dep_events, dep_events, completion_event},
                [&](Device& device) { return device.later_copy(host_ptr, target_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_target_region(int32_t device_id, void* target_entry_ptr,
                                                             void** target_vars_ptr, int32_t arg_num,
                                                             int32_t num_dep_events, tgt_event_t* dep_events,
                                                             tgt_event_t* completion_event) {
  return queued(device_id, OMPTARGET_RTL_NOT_STARTED, {num_dep_events, dep_events, completion_event},
                [&](Device& device) { return device.later_run(target_entry_ptr, target_vars_ptr, arg_num, {1, 1}); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_target_team_region(int32_t device_id, void* target_entry_ptr,
                                                                  void** target_vars_ptr, int32_t arg_num,
                                                                  int32_t num_teams, int32_t thread_limit,
                                                                  int32_t num_dep_events, tgt_event_t* dep_events,
                                                                  tgt_event_t* completion_event) {
  return queued(device_id, OMPTARGET_RTL_NOT_STARTED, {num_dep_events, dep_events, completion_event},
                [&](Device& device) {
                  return device.later_run(target_entry_ptr, target_vars_ptr, arg_num,
                                          omptool::host::shape_of(num_teams, thread_limit));
                });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                                      int32_t arg_num, const tgt_launch_shape* shape,
                                                      int32_t num_dep_events, tgt_event_t* dep_events,
                                                      tgt_event_t* completion_event) {
  return queued(
      device_id, OMPTARGET_RTL_NOT_STARTED, {num_dep_events, dep_events, completion_event}, [&](Device& device) {
        const std::optional<omptool::host::Shape> known = omptool::host::shape_of(*shape);
        return known ? device.later_run(target_entry_ptr, target_vars_ptr, arg_num, *known) : omptool::host::Body();
      });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size,
                                                     int32_t num_dep_events, tgt_event_t* dep_events,
                                                     tgt_event_t* completion_event) {
  return queued(device_id, 1, {num_dep_events, dep_events, completion_event},
                [&](Device& device) { return device.later_fill(target_ptr, value, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_async_data_exchange(int32_t from_device_id, void* source_ptr, int32_t to_device_id,
                                                         void* target_ptr, int64_t size, int32_t num_dep_events,
                                                         tgt_event_t* dep_events, tgt_event_t* completion_event) {
  return guarded(from_device_id, 1, [&](Device&) {
    return queued(to_device_id, 1, {num_dep_events, dep_events, completion_event},
                  [&](Device& to) { return to.later_copy(target_ptr, source_ptr, size); });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_wait_event(tgt_event_t completion_event) {
  return safely(1, [&] {
    return omptool::plugin::ask_event<Operation>(
        host().events, completion_event,
        [](const auto& operation, auto& lock) { host().queue.await(*operation, lock); });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_query_event(tgt_event_t completion_event) {
  return safely(1, [&] {
    return omptool::plugin::ask_event<Operation>(host().events, completion_event, [](const auto&, auto&) {});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_prefers_queues(int32_t) {
  return omptool::host::queues_are_wanted();
}

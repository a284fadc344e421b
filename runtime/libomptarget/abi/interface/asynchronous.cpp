// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface document's asynchronous calls (libomptarget-interface.tex, "asynchronous interface").
#define OMPTARGET_NO_SYMVER
#include "omptarget.h"

#include "abi/exports.h"
#include "abi/interface/arrays.h"
#include "offload/asynchronous.h"
#include "offload/outstanding.h"

namespace omptool::document {
namespace {

std::int32_t on_region_later(const observe::Call& call, std::int32_t device, const Arrays& arrays,
                             const LaunchShape& shape, const Later& later) {
  return guarded(call.function, [&] {
    const ReportedCall reported(call, device);
    std::int32_t result = -1;
    with_rows(arrays, [&](Rows rows, const std::string& fault) {
      result = fault.empty()
                   ? run_region_later(device, call.entry, rows, shape, later)
                   : refuse_region_later(device, call.entry, rows, std::string(call.function) + ": " + fault, later);
    });
    return result;
  });
}

void on_data_later(const observe::Call& call, DataAction action, std::int32_t device, const Arrays& arrays,
                   const Later& later) {
  guarded(call.function, [&] {
    const ReportedCall reported(call, device);
    with_rows(arrays, [&](Rows rows, const std::string& fault) {
      if (fault.empty())
        data_later(action, device, rows, later);
      else
        ignore_data_later(fault, later);
    });
  });
}

} // namespace
} // namespace omptool::document

using omptool::DataAction;
using omptool::document::Action;
using omptool::document::Arrays;
using omptool::document::call_of;
using omptool::document::on_data_later;
using omptool::document::on_region_later;

extern "C" {

OMPTOOL_EXPORT void __tgt_init_dep(tgt_callback_fct completion_callback) {
  omptool::outstanding::set_callback(completion_callback);
}

OMPTOOL_EXPORT int32_t __tgt_enforce_dep(int32_t from_device_id, int32_t to_device_id, tgt_event_t completion_event) {
  return omptool::guarded(__func__, [&]() -> int32_t {
    return omptool::enforces("__tgt_enforce_dep", from_device_id, to_device_id, completion_event);
  });
}

OMPTOOL_EXPORT void __tgt_release_dep(tgt_event_t completion_event) {
  omptool::guarded(__func__, [&] { omptool::release_event("__tgt_release_dep", completion_event); });
}

OMPTOOL_EXPORT int32_t __tgt_process_dep(void) {
  return omptool::guarded(__func__, []() -> int32_t { return omptool::outstanding::process(); });
}

OMPTOOL_EXPORT void __tgt_target_async_data_begin(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                                  int64_t* args_size, int32_t* args_maptype, int32_t num_dep_events,
                                                  tgt_event_t* dep_events, tgt_event_t* completion_event,
                                                  tgt_callback_param_t param) {
  on_data_later(call_of(Action::kEnterData, __func__, __builtin_return_address(0)), DataAction::kBegin, device_id,
                Arrays{num_args, args_base, args, args_size, args_maptype},
                {__func__, num_dep_events, dep_events, completion_event, param});
}

OMPTOOL_EXPORT void __tgt_target_async_data_end(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                                int64_t* args_size, int32_t* args_maptype, int32_t num_dep_events,
                                                tgt_event_t* dep_events, tgt_event_t* completion_event,
                                                tgt_callback_param_t param) {
  on_data_later(call_of(Action::kExitData, __func__, __builtin_return_address(0)), DataAction::kEnd, device_id,
                Arrays{num_args, args_base, args, args_size, args_maptype},
                {__func__, num_dep_events, dep_events, completion_event, param});
}

OMPTOOL_EXPORT void __tgt_target_async_data_update(int32_t device_id, int32_t num_args, void** args_base, void** args,
                                                   int64_t* args_size, int32_t* args_maptype, int32_t num_dep_events,
                                                   tgt_event_t* dep_events, tgt_event_t* completion_event,
                                                   tgt_callback_param_t param) {
  on_data_later(call_of(Action::kUpdate, __func__, __builtin_return_address(0)), DataAction::kUpdate, device_id,
                Arrays{num_args, args_base, args, args_size, args_maptype},
                {__func__, num_dep_events, dep_events, completion_event, param});
}

OMPTOOL_EXPORT int32_t __tgt_target_async(int32_t device_id, void* host_addr, int32_t num_args, void** args_base,
                                          void** args, int64_t* args_size, int32_t* args_maptype,
                                          int32_t num_dep_events, tgt_event_t* dep_events,
                                          tgt_event_t* completion_event, tgt_callback_param_t param) {
  return on_region_later(call_of(Action::kRegion, __func__, __builtin_return_address(0), host_addr), device_id,
                         Arrays{num_args, args_base, args, args_size, args_maptype}, {},
                         {__func__, num_dep_events, dep_events, completion_event, param});
}

OMPTOOL_EXPORT int32_t __tgt_target_async_teams(int32_t device_id, void* host_addr, int32_t num_args, void** args_base,
                                                void** args, int64_t* args_size, int32_t* args_maptype,
                                                int32_t num_teams, int32_t thread_limit, int32_t num_dep_events,
                                                tgt_event_t* dep_events, tgt_event_t* completion_event,
                                                tgt_callback_param_t param) {
  return on_region_later(call_of(Action::kRegion, __func__, __builtin_return_address(0), host_addr, num_teams),
                         device_id, Arrays{num_args, args_base, args, args_size, args_maptype},
                         omptool::shape_of_teams(num_teams, thread_limit),
                         {__func__, num_dep_events, dep_events, completion_event, param});
}
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every asynchronous call comes down to these: the constructs of offload.h, done when the events that they wait for
// have happened, with an event of their own (decisions 23 to 25).
#pragma once

#include "data/table/row.h"
#include "offload/data_constructs.h"
#include "omptarget.h"
#include "rtl/launch_shape.h"

#include <cstdint>
#include <string>

namespace omptool {

// The parameters of an asynchronous call beside its rows.
struct Later {
  const char* function; // its name
  std::int32_t count;   // of the events that it waits for, which the program holds
  const tgt_event_t* awaited;
  tgt_event_t* completion;    // where its own goes, or null
  tgt_callback_param_t param; // for the callback; null: none follows
  // Of an OpenMP compiler's call, which asks for its end by itself: where its event goes. Private data is read at once.
  EventPtr* ended = nullptr;
};

// 0: the region runs when its turn comes. Otherwise the caller runs its host version, for which the data is ready:
// what the region should have come after has ended.
std::int32_t run_region_later(std::int64_t device_id, const void* host_address, Rows rows, const AskedShape& shape,
                              const Later& call);
// The same for a region that cannot run on any device for `reason`; see refuse_region().
std::int32_t refuse_region_later(std::int64_t device_id, const void* host_address, Rows rows, const std::string& reason,
                                 const Later& call);
void data_later(DataAction action, std::int64_t device_id, Rows rows, const Later& call);
// A data call that does nothing, for `reason`, which is said; its event completes all the same.
void ignore_data_later(const std::string& reason, const Later& call);

// Returns true if the devices keep an event of the first, which the program holds, before what is to come after it on
// the second. Numbers are those of programs.
bool enforces(const char* function, std::int32_t from, std::int32_t to, tgt_event_t event);
void release_event(const char* function, tgt_event_t event);

} // namespace omptool

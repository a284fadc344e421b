// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every ABI comes down to these calls: run a region, begin, end or update data, on a device number as
// programs write it (-1 the default device, -2 every device when first used, -3 every device used).
#pragma once

#include "data/table/row.h"
#include "devices/registry.h"
#include "offload/construct.h"
#include "omptarget.h"
#include "rtl/launch_shape.h"

#include <cstdint>
#include <optional>
#include <string>

namespace omptool {

// 0: the region ran. Otherwise the caller runs its host version, for which the data is ready.
std::int32_t run_region(std::int64_t device_id, const void* host_address, Rows rows, const AskedShape& shape);
// Runs the region of a task of libomp's (nowait), which has waited for what it depends on. Returns, as run_region(),
// when the region has ended.
std::int32_t run_task_region(std::int64_t device_id, const void* host_address, Rows rows, const AskedShape& shape);
// Of one call, which a line names each time it is made; or of the compiler, and so of each call: one line for each
// region.
enum class Fault { kOfCall, kOfCompiler };
// The same for a region that cannot run on any device for `reason`, which is always said; `rows` name
// its data as far as the caller's arrays make sense. Without rows it copies all that the device has to the host.
std::int32_t refuse_region(std::int64_t device_id, const void* host_address, std::optional<Rows> rows,
                           const std::string& reason, Fault fault = Fault::kOfCall);
// Begins, ends or updates data.
void run_data(Action action, std::int64_t device_id, Rows rows);
// Ignores a construct for `reason`, which it prints once; copies the objects of `rows` to the host.
void refuse_data(std::int64_t device_id, Rows rows, const std::string& reason);

// ---- asynchronous calls ----

// The same, done when the events that they wait for have happened, with an event of their own (decisions 23 to 25).

// The parameters of an asynchronous call beside its rows.
struct Later {
  const char* function; // its name
  std::int32_t count;   // of the events that it waits for, which the program holds
  const tgt_event_t* awaited;
  tgt_event_t* completion;    // where its own goes, or null
  tgt_callback_param_t param; // for the callback; null: none follows
};

// 0: the region runs when its turn comes. Otherwise the caller runs its host version, for which the data is ready:
// what the region should have come after has ended. `fault`: what is wrong with the call, as of refuse_region(), or "".
std::int32_t run_region_later(std::int64_t device_id, const void* host_address, Rows rows, const AskedShape& shape,
                              const Later& call, std::string fault = {});
// The same of data. A call with a fault does nothing, and says so; its event completes all the same.
void data_later(Action action, std::int64_t device_id, Rows rows, const Later& call, std::string fault = {});

// Returns true if the devices keep an event of the first, which the program holds, before what is to come after it on
// the second. Numbers are those of programs.
bool enforces(const char* function, std::int32_t from, std::int32_t to, tgt_event_t event);
void release_event(const char* function, tgt_event_t event);

// ---- devices ----

// The devices a program sees: none under OMP_TARGET_OFFLOAD=DISABLED.
int number_of_devices();
// The device, initialised, for the routines that copy and allocate; null for the host and for
// numbers that name no usable device.
Device* usable_device(int number);
// The same, with images loaded, so that global variables are present.
Device* prepared_device(int number);

} // namespace omptool

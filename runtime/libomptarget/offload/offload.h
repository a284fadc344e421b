// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every ABI comes down to these calls: run a region, begin, end or update data, on a device number as
// programs write it (-1 the default device, -2 every device when first used, -3 every device used).
#pragma once

#include "data/table/row.h"
#include "devices/registry.h"
#include "offload/data_constructs.h"
#include "rtl/launch_shape.h"

#include <cstdint>
#include <optional>
#include <string>

namespace omptool {

// 0: the region ran. Otherwise the caller runs its host version, for which the data is ready.
std::int32_t run_region(std::int64_t device_id, const void* host_address, Rows rows, const AskedShape& shape);
// The same for a region that cannot run on any device for `reason`, which is always said; `rows` name
// its data as far as the caller's arrays make sense.
std::int32_t refuse_region(std::int64_t device_id, const void* host_address, Rows rows, const std::string& reason);
// The same where the fault is the compiler's, and so of each call: it prints one line for each region. Without rows it
// copies all that the device has to the host.
std::int32_t refuse_compiler(std::int64_t device_id, const void* host_address, std::optional<Rows> rows,
                             const std::string& reason);
// Begins, ends or updates data.
void run_data(DataAction action, std::int64_t device_id, Rows rows);
// Ignores a construct for `reason`, which it prints once; copies the objects of `rows` to the host.
void refuse_data(std::int64_t device_id, Rows rows, const std::string& reason);

// The devices a program sees: none under OMP_TARGET_OFFLOAD=DISABLED.
int number_of_devices();
// The device, initialised, for the routines that copy and allocate; null for the host and for
// numbers that name no usable device.
Device* usable_device(int number);
// The same, with images loaded, so that global variables are present.
Device* prepared_device(int number);

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports the rows of constructs to listeners.
#pragma once

#include "data/arguments.h"
#include "data/device_data.h"
#include "data/table/row.h"
#include "observe/events/sink.h"

namespace omptool {

// Reports the rows and their objects as these are now. No lock may be held: the sink copies the rows.
void report_rows(observe::RowsSeen::Kind kind, Rows rows, const DeviceData& data, MappedArguments& mapped);

} // namespace omptool

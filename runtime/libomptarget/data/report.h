// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells listeners of objects: in plain values, as they are at the time.
#pragma once

#include "data/mapped_arguments.h"
#include "data/table/row.h"
#include "observe/events/sink.h"

namespace omptool {

// Reports the rows of a construct, as their objects are now. No lock may be held: the sink would copy the rows.
void report_rows(observe::RowsSeen::Kind kind, int device, const Sharing& sharing, PresentTable& table, Rows rows,
                 Held& held);

// To be called where somebody hears what begins. `cell`: of a pointer that is attached, where it is on the host.
void report_copy(int device, bool to_device, const Mapping& mapping, const void* host, const void* there,
                 std::int64_t size, const void* cell = nullptr);

} // namespace omptool

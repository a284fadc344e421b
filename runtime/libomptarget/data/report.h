// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells listeners of objects: in plain values, as they are at the time.
#pragma once

#include "data/mapped_arguments.h"
#include "data/table/row.h"
#include "observe/events/sink.h"

namespace omptool {

observe::ObjectSeen seen(const Mapping& mapping, bool fresh);
// To be called where somebody listens, before anything is copied.
void report_rows(observe::RowsSeen::Kind kind, int device, bool host_memory, Rows rows, Bindings& bound);
// `cell`: of a pointer that is attached, where it is on the host.
void report_copy(int device, bool to_device, const Mapping& mapping, const void* host, const void* there,
                 std::int64_t size, const void* cell = nullptr);

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a device's constructs (decision 24): what each comes after when it takes its position, and the events
// that it leaves for those that come later. The caller holds the table's lock.
#pragma once

#include "data/arguments.h"
#include "data/table/present_table.h"
#include "rtl/command_list.h"

namespace omptool {

// Lets the construct's operations come after those that fill its objects, and after those that still copy back what
// has been mapped where it creates some.
void come_after_others(MappedArguments& mapped, CommandList& commands, PresentTable& table, PresentTable::Lock& lock);
// Leaves the events that later constructs come after.
void leave_events(Object& object, bool transfers, bool uses, CommandList& commands, PresentTable::Lock& lock);

} // namespace omptool

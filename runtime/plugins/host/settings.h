// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The environment variables of the plugin. A value that cannot be used gets one line on stderr and the default.
// Programs that run with raised privileges (AT_SECURE) ignore them.
#pragma once

#include <cstdint>

namespace omptool::host {

std::int32_t device_count(); // OMPTOOL_HOST_DEVICES
bool memory_is_shared();     // OMPTOOL_HOST_MEMORY
bool queues_are_wanted();    // OMPTOOL_HOST_QUEUES
unsigned most_in_flight();   // OMPTOOL_HOST_IN_FLIGHT

} // namespace omptool::host

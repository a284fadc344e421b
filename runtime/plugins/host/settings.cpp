// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.h"

#include "setting.h"

namespace omptool::host {

std::int32_t device_count() {
  static const std::int32_t count = number_or(own_setting("OMPTOOL_HOST_DEVICES"), 1, 0, 256);
  return count;
}

bool memory_is_shared() {
  static const bool shared = choice<bool>(own_setting("OMPTOOL_HOST_MEMORY"), {{"separate", false}, {"shared", true}});
  return shared;
}

bool queues_are_wanted() {
  static const bool wanted = choice<bool>(own_setting("OMPTOOL_HOST_QUEUES"), {{"0", false}, {"1", true}});
  return wanted;
}

// Reads the largest number of operations in flight. The core reads the variable, too, and reports a wrong value.
unsigned most_in_flight() {
  return static_cast<unsigned>(number_in(own_setting("OMPTOOL_HOST_IN_FLIGHT"), 1, 4096).value_or(64));
}

} // namespace omptool::host

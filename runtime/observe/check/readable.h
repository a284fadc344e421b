// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "host_range.h"

#include <optional>

namespace omptool::check {

// Returns an address of the range that this process cannot read; nothing: none is found, or the system forbids to ask.
// In a range over 1 GiB only some pages are read.
std::optional<std::uintptr_t> first_unreadable(HostRange range);

} // namespace omptool::check

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names regions that no library has registered: the executable or library that they are part of was linked without
// device code, although its compiler wrote entries.
#pragma once

#include <string>

namespace omptool {

struct UnregisteredRegion {
  std::string kernel; // the name in the entry table; "": no such table is found
  std::string object; // the file name of the executable or library
};

// Finds the region by the host address that its call passes. Returns no name if the address is part of no entry.
UnregisteredRegion unregistered_region(const void* host_address);

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "host_range.h"

#include <cstdint>
#include <string>
#include <vector>

namespace omptool {

// Loaded object: the executable or shared library that contains a descriptor.
struct LoadedObject {
  const void* descriptor;
  HostRange object;                   // empty: none of them
  bool permanent;                     // the executable, which is never unloaded
  std::vector<HostRange> constants{}; // its read-only memory
  std::string path{};                 // of its file
  std::uintptr_t base = 0;            // load address, to which addresses in the file are relative
  std::uint64_t unloads = 0;          // of objects until now: while it stays, no address has become another object's
  std::string name() const;           // for messages
};

// Asks the dynamic linker. `descriptor` may be any address of the object.
LoadedObject loaded_object_of(const void* descriptor);

} // namespace omptool

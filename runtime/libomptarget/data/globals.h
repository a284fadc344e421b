// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects that no construct counts: global variables and associated pointers.
#pragma once

#include "data/table/present_table.h"

#include <string>

namespace omptool {

// Says when the two sides of a global variable hold the same bytes. kCopied: after a copy. kLoaded: also, and nothing
// has run on the device since it got the variable, so that the host's side is the newer one.
enum class Sync { kLoaded, kCopied, kNever };

class Globals {
public:
  explicit Globals(PresentTable& table) : table_(table) {}

  // Returns false if something else is mapped there.
  bool map_global(HostRange host, void* device, const std::string& name, Sync sync);
  // A variable that kernels use where the host has it; it may be larger.
  void map_in_place(HostRange host, const std::string& name) { map_global(host, host.address(), name, Sync::kNever); }
  // Returns what was mapped there, or nothing.
  HostRange unmap_global(HostRange host);
  bool associate(HostRange host, void* device);
  // Returns why the pointer stays associated, in LLVM's words; null: it does not.
  const char* disassociate(const void* host);

private:
  bool insert_infinite(HostRange host, void* device, const std::string& name, Sync sync, PresentTable::Lock& lock);
  // Returns one that shares a byte with the range, and is there or leaving; or null.
  Object* find_any(HostRange host, PresentTable::Lock& lock);

  PresentTable& table_;
};

} // namespace omptool

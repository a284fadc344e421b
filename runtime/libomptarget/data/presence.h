// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers what programs ask of the present table (decision 30 says what presence is).
#pragma once

#include "data/table/present_table.h"

#include <string>
#include <vector>

namespace omptool {

// A mapped object, as it was when somebody asked.
struct MappedObject {
  HostRange host;
  std::byte* device;
  std::int64_t references, holds;
  bool infinite;
  std::string name;
};

class Presence {
public:
  Presence(PresentTable& table, const Sharing& sharing) : table_(table), sharing_(sharing) {}

  bool is_present(const void* host) { return mapped_address(host) != nullptr; }
  // Returns where the device has what is at `host`, or null.
  void* device_address(const void* host) {
    void* const mapped = mapped_address(host);
    return mapped || !sharing_.is_only() ? mapped : const_cast<void*>(host);
  }
  // Returns what is mapped now, by address.
  std::vector<MappedObject> objects();

private:
  void* mapped_address(const void* host);

  PresentTable& table_;
  const Sharing& sharing_;
};

} // namespace omptool

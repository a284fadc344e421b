// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/presence.h"

namespace omptool {

// Null: nothing is mapped there, or it is leaving.
void* Presence::mapped_address(const void* host) {
  PresentTable::Lock lock(table_);
  const Mapping* const found = table_.look_up_any(HostRange::of(host, 1), lock).mapping;
  const bool is_there = found && found->device && found->state != Mapping::State::kLeaving;
  return is_there ? found->at(reinterpret_cast<std::uintptr_t>(host)) : nullptr;
}

std::vector<MappedObject> Presence::objects() {
  PresentTable::Lock lock(table_);
  std::vector<MappedObject> all;
  for (Mapping* const found : table_.overlapping({0, UINTPTR_MAX}, lock)) {
    const Mapping& mapping = lock.touch(*found);
    if (mapping.state != Mapping::State::kVacant)
      all.push_back(
          {mapping.host, mapping.device, mapping.references, mapping.holds, mapping.infinite, mapping.name()});
  }
  return all;
}

} // namespace omptool

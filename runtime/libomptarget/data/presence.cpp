// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/presence.h"

namespace omptool {

// Null: nothing is mapped there, or it is leaving.
void* Presence::mapped_address(const void* host) {
  PresentTable::Lock lock(table_);
  const Answer found = table_.find(HostRange::of(host, 1), lock);
  if (!found.is(Answer::Kind::kPresent))
    return nullptr;
  void* const there = found.object->device() ? found.object->at(reinterpret_cast<std::uintptr_t>(host)) : nullptr;
  lock.unpin(*found.object);
  return there;
}

std::vector<MappedObject> Presence::objects() {
  PresentTable::Lock lock(table_);
  std::vector<MappedObject> all;
  for (const Object* const object : table_.overlapping({0, UINTPTR_MAX}, lock))
    if (const Object::Snapshot now = object->snapshot(); now.state != Object::State::kVacant)
      all.push_back({now.host, now.device, now.references, now.holds, now.infinite, object->name()});
  return all;
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/globals.h"

namespace omptool {

bool Globals::insert_infinite(HostRange host, void* device, const std::string& name, Sync sync,
                              PresentTable::Lock& lock) {
  if (table_.look_up_any(host, lock).overlap != Overlap::kNone)
    return false;
  auto mapping = std::make_unique<Mapping>(host, static_cast<std::byte*>(device), nullptr);
  mapping->infinite = true;
  if (!name.empty())
    mapping->make_details().name = name;
  mapping->own_value = sync == Sync::kNever;
  mapping->written = sync != Sync::kLoaded;
  mapping->born = activity_.birth();
  table_.add(std::move(mapping), lock);
  return true;
}

bool Globals::map_global(HostRange host, void* device, const std::string& name, Sync sync) {
  PresentTable::Lock lock(table_);
  return insert_infinite(host, device, name, sync, lock);
}

HostRange Globals::unmap_global(HostRange host) {
  PresentTable::Lock lock(table_);
  const Lookup found = table_.look_up_any(host, lock);
  if (found.overlap != Overlap::kWhole || !found.mapping->is_named())
    return {};
  table_.remove(*found.mapping, lock);
  return found.mapping->host;
}

bool Globals::associate(HostRange host, void* device) {
  PresentTable::Lock lock(table_);
  const Lookup found = table_.look_up_any(host, lock);
  if (found.overlap == Overlap::kNone)
    return insert_infinite(host, device, {}, Sync::kCopied, lock);
  const Mapping& known = *found.mapping;
  return known.infinite && known.host.begin == host.begin && known.host.end == host.end && known.device == device;
}

const char* Globals::disassociate(const void* host) {
  PresentTable::Lock lock(table_);
  Mapping* const found = table_.look_up_any(HostRange::of(host, 1), lock).mapping;
  if (!found || found->host.address() != host)
    return "Association not found";
  if (found->holds != 0)
    return "Trying to disassociate a pointer with a non-zero hold reference count";
  if (!found->infinite || found->is_named())
    return "Trying to disassociate a pointer which was not mapped via omp_target_associate_ptr";
  table_.remove(*found, lock);
  return nullptr;
}

} // namespace omptool

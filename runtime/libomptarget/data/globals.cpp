// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/globals.h"

namespace omptool {

Object* Globals::find_any(HostRange host, PresentTable::Lock& lock) {
  const Answer found = table_.find(host, lock);
  if (found.is(Answer::Kind::kPresent))
    lock.unpin(*found.object); // it stays in the table while that is locked
  return found.object;
}

bool Globals::insert_infinite(HostRange host, void* device, const std::string& name, Sync sync,
                              PresentTable::Lock& lock) {
  if (find_any(host, lock))
    return false;
  table_.insert({.host = host,
                 .device = static_cast<std::byte*>(device),
                 .infinite = true,
                 .own_value = sync == Sync::kNever,
                 .written = sync != Sync::kLoaded,
                 .name = name},
                lock);
  return true;
}

bool Globals::map_global(HostRange host, void* device, const std::string& name, Sync sync) {
  PresentTable::Lock lock(table_);
  return insert_infinite(host, device, name, sync, lock);
}

HostRange Globals::unmap_global(HostRange host) {
  PresentTable::Lock lock(table_);
  Object* const found = find_any(host, lock);
  if (!found || !found->host().contains(host) || !found->is_named())
    return {};
  const HostRange unmapped = found->host();
  table_.erase(*found, lock);
  return unmapped;
}

bool Globals::associate(HostRange host, void* device) {
  PresentTable::Lock lock(table_);
  const Object* const known = find_any(host, lock);
  if (!known)
    return insert_infinite(host, device, {}, Sync::kCopied, lock);
  return known->is_infinite() && known->host().begin == host.begin && known->host().end == host.end &&
         known->device() == device;
}

const char* Globals::disassociate(const void* host) {
  PresentTable::Lock lock(table_);
  Object* const found = find_any(HostRange::of(host, 1), lock);
  if (!found || found->host().address() != host)
    return "Association not found";
  if (found->snapshot().holds != 0)
    return "Trying to disassociate a pointer with a non-zero hold reference count";
  if (!found->is_infinite() || found->is_named())
    return "Trying to disassociate a pointer which was not mapped via omp_target_associate_ptr";
  table_.erase(*found, lock);
  return nullptr;
}

} // namespace omptool

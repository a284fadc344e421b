// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects that no construct counts: global variables, associated pointers, the program's own device
// memory; and what is where.
#include "data/environment.h"

#include "data/row_ranges.h"

namespace omptool {

bool DataEnvironment::insert_infinite(HostRange host, void* device, const std::string& name, Sync sync, Lock& lock) {
  if (look_up_any(host, lock).overlap != Overlap::kNone)
    return false;
  MappingPtr mapping = MappingPtr::make(host, static_cast<std::byte*>(device), nullptr);
  mapping->infinite = true;
  if (!name.empty())
    mapping->make_details().name = name;
  mapping->own_value = sync == Sync::kNever;
  add(std::move(mapping), lock);
  return true;
}

bool DataEnvironment::map_global(HostRange host, void* device, const std::string& name, Sync sync) {
  Lock lock(*this);
  return insert_infinite(host, device, name, sync, lock);
}

HostRange DataEnvironment::unmap_global(HostRange host) {
  Lookup found; // given up without the lock
  Lock lock(*this);
  found = look_up_any(host, lock);
  if (found.overlap != Overlap::kWhole || !found.mapping->is_named())
    return {};
  remove(*found.mapping, lock);
  return found.mapping->host;
}

bool DataEnvironment::associate(HostRange host, void* device) {
  Lock lock(*this);
  const Lookup found = look_up_any(host, lock);
  if (found.overlap == Overlap::kNone)
    return insert_infinite(host, device, {}, Sync::kCopied, lock);
  const Mapping& known = *found.mapping;
  return known.infinite && known.host.begin == host.begin && known.host.end == host.end && known.device == device;
}

DataEnvironment::Disassociation DataEnvironment::disassociate(const void* host) {
  MappingPtr found; // given up without the lock
  Lock lock(*this);
  found = look_up_any(HostRange::of(host, 1), lock).mapping;
  if (!found || !found->infinite || found->is_named() || found->host.address() != host)
    return Disassociation::kNothingThere;
  if (found->holds != 0)
    return Disassociation::kHeld;
  remove(*found, lock);
  return Disassociation::kDone;
}

void* DataEnvironment::allocate(std::size_t size) {
  void* const memory = memory_.allocate(static_cast<std::int64_t>(size));
  if (memory && !memory_.is_addressable()) {
    const std::lock_guard lock(mutex_);
    allocations_[reinterpret_cast<std::uintptr_t>(memory)] = size;
  }
  return memory;
}

bool DataEnvironment::release(void* memory) {
  {
    const std::lock_guard lock(mutex_);
    allocations_.erase(reinterpret_cast<std::uintptr_t>(memory));
  }
  return memory_.free(memory);
}

bool DataEnvironment::is_out_of_reach(std::uintptr_t address) {
  if (shares_host_memory() || memory_.is_addressable())
    return false;
  Lock lock(*this);
  const auto after = allocations_.upper_bound(address);
  return !on_device({address, 1}, lock).empty() ||
         (after != allocations_.begin() && address - std::prev(after)->first < std::prev(after)->second);
}

void* DataEnvironment::device_address(const void* host) {
  Lock lock(*this);
  const MappingPtr found = look_up_any(HostRange::of(host, 1), lock).mapping;
  if (found && found->device && found->state != Mapping::State::kLeaving)
    return found->at(reinterpret_cast<std::uintptr_t>(host));
  return sharing() == Sharing::kOnly ? const_cast<void*>(host) : nullptr;
}

bool DataEnvironment::is_present(const void* host) {
  Lock lock(*this);
  const MappingPtr found = look_up_any(HostRange::of(host, 1), lock).mapping;
  return sharing() == Sharing::kOnly || (found && found->device && found->state != Mapping::State::kLeaving);
}

std::vector<MappedObject> DataEnvironment::objects() {
  Lock lock(*this);
  std::vector<MappedObject> all;
  for (const MappingPtr& found : table_.overlapping({0, UINTPTR_MAX})) {
    const Mapping& mapping = lock.touch(*found);
    if (mapping.state != Mapping::State::kVacant)
      all.push_back(
          {mapping.host, mapping.device, mapping.references, mapping.holds, mapping.infinite, mapping.name()});
  }
  return all;
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/environment.h"

#include "data/mapping_fault.h"
#include "data/row_ranges.h"

#include <bit>

namespace omptool {

// ---- locks ----

// Waiting lets go of every shard, so that whoever is waited for can go on.
void DataEnvironment::Lock::wait_for(Mapping& mapping) {
  touch(mapping).awaited = true;
  release_shards();
  data_.changed_.wait(table_);
}

void DataEnvironment::Lock::wake_those_who_wait_for(Mapping& mapping) {
  if (mapping.awaited)
    data_.changed_.notify_all();
  mapping.awaited = false;
}

void DataEnvironment::Lock::release_shards() {
  for (std::size_t word = 0; word < held_.size(); ++word)
    for (; held_[word]; held_[word] &= held_[word] - 1)
      data_.index_.shard(64 * word + static_cast<std::size_t>(std::countr_zero(held_[word]))).lock.unlock();
}

// ---- the table and the index, which name the same objects ----

bool DataEnvironment::add(MappingPtr mapping, Lock& lock) {
  Mapping& added = *mapping;
  if (!table_.insert(mapping))
    return false;
  ObjectIndex::insert(lock.shard_of(added), added);
  regions_.add(added.host);
  return true;
}

// Calls that use it keep the record; its device memory goes with it. Returns the last share in it, if nobody
// uses it.
MappingPtr DataEnvironment::remove(Mapping& mapping, Lock& lock) {
  set_sound(lock.touch(mapping));
  return take_from_table(mapping, lock);
}

// The same of one whose bytes have yet to go back: what is to be known of it for that stays.
MappingPtr DataEnvironment::take_from_table(Mapping& mapping, Lock& lock) {
  ObjectIndex::Shard& shard = lock.shard_of(mapping);
  if (mapping.state == Mapping::State::kVacant)
    --shard.vacant;
  mapping.state = Mapping::State::kGone;
  ObjectIndex::erase(shard, mapping);
  regions_.remove(mapping.host);
  MappingPtr share = table_.erase(mapping);
  lock.wake_those_who_wait_for(mapping);
  if (mapping.pins > 0) // the last of those calls gives it up
    mapping.self = std::move(share);
  return share;
}

// Whether something ran on the device after the birth shows later whether anybody may have written there.
void DataEnvironment::note_birth(Mapping& mapping) {
  std::uint64_t now = activity_.load(std::memory_order_relaxed);
  std::uint64_t born = now;
  do
    born = now % 4 == 0 ? now + 1 : now % 4 == 2 ? now + 3 : now;
  while (born != now && !activity_.compare_exchange_weak(now, born, std::memory_order_relaxed));
  mapping.born = born;
}

std::vector<MappingPtr> DataEnvironment::on_device(MappingTable::DeviceRange range, Lock& lock) {
  return table_.on_device(range, [&](Mapping& mapping) { lock.touch(mapping); });
}

// ---- finding ----

// Whether the object, which was found in the table, is there. If not, it has gone, and the caller looks
// again: what is leaving is not there any more, but its memory is not yet free to map again.
bool DataEnvironment::is_there(Mapping& mapping, Lock& lock) {
  lock.touch(mapping);
  if (mapping.state == Mapping::State::kVacant)
    remove(mapping, lock);
  else if (mapping.state == Mapping::State::kLeaving)
    lock.wait_for(mapping);
  else
    return true;
  return false;
}

Lookup DataEnvironment::look_up(HostRange wanted, Lock& lock) {
  for (;;) {
    Lookup found = table_.find(wanted);
    if (found.overlap == Overlap::kNone || is_there(*found.mapping, lock))
      return found;
  }
}

// The same, but an object that is leaving is found, too.
Lookup DataEnvironment::look_up_any(HostRange wanted, Lock& lock) {
  for (;;) {
    Lookup found = table_.find(wanted);
    if (found.overlap == Overlap::kNone || lock.touch(*found.mapping).state != Mapping::State::kVacant)
      return found;
    remove(*found.mapping, lock);
  }
}

// The object of a row that has no bytes, or null.
MappingPtr DataEnvironment::look_up_empty(const Row& row, Lock& lock) {
  const void* const address = empty_section(row);
  if (!address)
    return nullptr;
  if (!row.has(kSection))
    return look_up(HostRange::of(address, 1), lock).mapping;
  for (;;) {
    MappingPtr found = table_.find_section(address);
    if (!found || is_there(*found, lock))
      return found;
  }
}

// The object that holds `wanted`, or null; it is a fault when the row maps more than is there.
MappingPtr DataEnvironment::find_for(const Row& row, HostRange wanted, Lock& lock) {
  const Lookup found = look_up(wanted, lock);
  if (found.overlap == Overlap::kPartial && !row.has(kImplicit))
    throw extension(wanted, *found.mapping, row.has(kPresent));
  if (found.overlap == Overlap::kNone && row.has(kPresent) && needs_copy(row))
    throw absence(wanted);
  return found.mapping;
}

// The same where nothing is to be created: on LLVM, what is there in part is not there.
MappingPtr DataEnvironment::find_known(const Row& row, HostRange wanted, Lock& lock) {
  const Lookup found = look_up(wanted, lock);
  if (found.overlap == Overlap::kPartial && !row.any(kImplicit | kSection))
    throw extension(wanted, *found.mapping);
  if (found.overlap == Overlap::kWhole || (found.overlap == Overlap::kPartial && row.has(kImplicit)))
    return found.mapping;
  return nullptr;
}

// The object that holds `wanted`, created if absent, without memory so far. Null on a device that shares the host's
// memory.
MappingPtr DataEnvironment::obtain(const Row& row, HostRange wanted, const void* call, Lock& lock,
                                   std::ptrdiff_t padding) {
  MappingPtr known = find_for(row, wanted, lock);
  if (known || !needs_copy(row))
    return known;
  MappingPtr created = MappingPtr::make(wanted, nullptr, &memory_);
  created->padding = padding;
  created->state = Mapping::State::kCreating;
  created->creator = call;
  note_birth(*created);
  add(created, lock);
  return created;
}

} // namespace omptool

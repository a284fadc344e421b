// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/present_table.h"

#include "data/table/mapping_fault.h"

#include <algorithm>
#include <bit>

namespace omptool {
// ---- exact matches ----

PresentTable::Entered PresentTable::create(const Row& row, const void* call) {
  auto created = std::make_unique<Mapping>(range_of(row), nullptr, &memory_);
  created->state = Mapping::State::kCreating;
  created->creator = call;
  created->references = 1;
  created->pins = 1;
  created->base = base_of(row);
  if (!row.has(kTo))
    created->born = activity_.birth();
  Lock lock(*this);
  if (!departures(created->host, lock).empty())
    return {};
  Mapping* const fresh = add(std::move(created), lock);
  return {fresh, fresh != nullptr};
}

// ---- leaving ----

Mapping* PresentTable::pin(Mapping* mapping, Lock& lock) {
  if (mapping)
    ++lock.touch(*mapping).pins;
  return mapping;
}

void PresentTable::unpin(Mapping& mapping, Lock& lock) {
  lock.give_up(last_pin(lock.touch(mapping)));
}

// Gives up the object's place, if it has not departed, and its device memory, unless others look at it.
std::byte* PresentTable::take_out(Mapping& mapping, std::string_view region) {
  std::byte* device = nullptr;
  Lock lock(*this);
  lock.touch(mapping);
  if (!is_last_user(mapping))
    mapping.make_details().released_by = region;
  else if (mapping.owner)
    device = mapping.take_device();
  if (mapping.state == Mapping::State::kLeaving)
    remove(mapping, lock);
  else
    set_sound(mapping);
  lock.give_up(last_pin(mapping));
  return device;
}

// ---- objects ----

// Waiting lets go of every shard, so that whoever is waited for can go on.
void PresentTable::Lock::wait_for(Mapping& mapping) {
  touch(mapping).awaited = true;
  release_shards();
  table_.changed_.wait(lock_);
  observe::note_pause();
}

void PresentTable::Lock::release_shards() {
  for (std::size_t word = 0; word < held_.size(); ++word)
    for (; held_[word]; held_[word] &= held_[word] - 1)
      table_.index_.shard(64 * word + static_cast<std::size_t>(std::countr_zero(held_[word]))).lock.unlock();
}

Mapping* PresentTable::add(std::unique_ptr<Mapping> mapping, Lock& lock) {
  Mapping* const added = mapping.get();
  if (!mappings_.insert(mapping))
    return nullptr;
  ObjectIndex::insert(lock.shard_of(*added), *added);
  regions_.add(added->host);
  return added;
}

void PresentTable::remove(Mapping& mapping, Lock& lock) {
  set_sound(lock.touch(mapping));
  take_from_table(mapping, lock);
}

void PresentTable::take_from_table(Mapping& mapping, Lock& lock) {
  ObjectIndex::Shard& shard = lock.shard_of(mapping);
  if (mapping.state == Mapping::State::kVacant)
    --shard.vacant;
  mapping.state = Mapping::State::kGone;
  ObjectIndex::erase(shard, mapping);
  regions_.remove(mapping.host);
  std::unique_ptr<Mapping> own = mappings_.erase(mapping);
  if (std::exchange(mapping.awaited, false))
    changed_.notify_all();
  if (mapping.pins > 0) // the last of those calls gives it up
    static_cast<void>(own.release());
  lock.give_up(std::move(own));
}

Mappings PresentTable::on_device(std::uintptr_t begin, std::size_t size, Lock& lock) {
  Mappings found = overlapping({0, UINTPTR_MAX}, lock);
  std::erase_if(found, [&](Mapping* mapping) {
    const std::uintptr_t there = reinterpret_cast<std::uintptr_t>(lock.touch(*mapping).device.load());
    const std::uintptr_t own_size = mapping->host.end - mapping->host.begin;
    // Differences: a sum of an address and a size may overflow.
    return !there || (there <= begin ? begin - there >= own_size : there - begin >= size);
  });
  return found;
}

bool PresentTable::is_there(Mapping& mapping, Lock& lock) {
  lock.touch(mapping);
  if (mapping.state == Mapping::State::kVacant)
    remove(mapping, lock);
  else if (mapping.state == Mapping::State::kLeaving)
    lock.wait_for(mapping);
  else
    return true;
  return false;
}

Lookup PresentTable::look_up(HostRange wanted, Lock& lock) {
  for (;;) {
    Lookup found = mappings_.find(wanted);
    if (found.overlap == Overlap::kNone || is_there(*found.mapping, lock))
      return found;
  }
}

Lookup PresentTable::look_up_any(HostRange wanted, Lock& lock) {
  for (;;) {
    Lookup found = mappings_.find(wanted);
    if (found.overlap == Overlap::kNone || lock.touch(*found.mapping).state != Mapping::State::kVacant)
      return found;
    remove(*found.mapping, lock);
  }
}

Mapping* PresentTable::look_up_empty(const Row& row, Lock& lock) {
  const void* const address = empty_section(row);
  if (!address)
    return nullptr;
  if (!row.has(kSection))
    return look_up(HostRange::of(address, 1), lock).mapping;
  for (;;) {
    Mapping* const found = mappings_.find_section(address);
    if (!found || is_there(*found, lock))
      return found;
  }
}

// The table has the first bytes of a variable, until a row names more. Null: something else is there.
Mapping* PresentTable::grow(Mapping& variable, HostRange wanted, Lock& lock) {
  const HostRange larger = enclosing_range(variable.host, wanted);
  if (mappings_.overlapping(larger).size() > 1)
    return nullptr;
  auto grown = std::make_unique<Mapping>(larger, static_cast<std::byte*>(larger.address()), nullptr);
  grown->infinite = grown->own_value = true;
  grown->references = lock.touch(variable).references;
  grown->holds = variable.holds;
  grown->make_details().name = variable.name();
  remove(variable, lock);
  return add(std::move(grown), lock);
}

// The object that holds `wanted`, or null; it is a fault when the row maps more than is there, if that is a copy.
Mapping* PresentTable::find_for(const Row& row, HostRange wanted, Lock& lock) {
  const Lookup found = look_up(wanted, lock);
  if (found.overlap == Overlap::kPartial && found.mapping->is_in_place())
    return found.mapping->is_named() ? grow(*found.mapping, wanted, lock) : nullptr;
  if (found.overlap == Overlap::kPartial && !row.has(kImplicit))
    throw extension(wanted, *found.mapping, row.has(kPresent));
  if (found.overlap == Overlap::kNone && row.has(kPresent) && sharing_.needs_copy(row))
    throw absence(wanted);
  return found.mapping;
}

Mapping* PresentTable::find_known(const Row& row, HostRange wanted, Lock& lock) {
  const Lookup found = look_up(wanted, lock);
  if (found.overlap == Overlap::kPartial && found.mapping->is_in_place())
    return nullptr;
  if (found.overlap == Overlap::kPartial && !row.any(kImplicit | kSection))
    throw extension(wanted, *found.mapping);
  if (found.overlap == Overlap::kWhole || (found.overlap == Overlap::kPartial && row.has(kImplicit)))
    return found.mapping;
  return nullptr;
}

Mapping* PresentTable::obtain(const Row& row, HostRange wanted, const void* call, Lock& lock, std::ptrdiff_t padding) {
  Mapping* const known = find_for(row, wanted, lock);
  if (known || (sharing_.any() && mappings_.find(wanted).overlap != Overlap::kNone))
    return known;
  if (!sharing_.needs_copy(row)) {
    auto in_place = std::make_unique<Mapping>(wanted, static_cast<std::byte*>(wanted.address()), nullptr);
    in_place->own_value = true;
    return add(std::move(in_place), lock);
  }
  auto created = std::make_unique<Mapping>(wanted, nullptr, &memory_);
  created->padding = padding;
  created->state = Mapping::State::kCreating;
  created->creator = call;
  created->born = activity_.birth();
  return add(std::move(created), lock);
}

// The device did not take what the call created: it is for the host alone, unless it has left already.
void PresentTable::break_object(Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  if (mapping.state == Mapping::State::kGone)
    return;
  set_unusable(mapping);
  set_host_current(mapping, true);
}

void PresentTable::note_written(Mapping* mapping) {
  if (!mapping)
    return;
  const auto guard = index_.guard(*mapping);
  mapping->written = true;
}

bool PresentTable::is_host_current(const Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  return mapping.host_current;
}

bool PresentTable::is_usable(const Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  return mapping.device && !mapping.unusable;
}

void PresentTable::wake() {
  {
    const std::lock_guard lock(mutex_); // whoever waits holds it until it sleeps
  }
  changed_.notify_all();
}

void PresentTable::set_unusable(Mapping& mapping) {
  if (!mapping.unusable)
    host_current_count_.fetch_add(1, std::memory_order_relaxed);
  mapping.unusable = true;
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data_environment.h"

#include "call_log.h"
#include "mapping_fault.h"
#include "message.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

namespace omptool {
namespace {

constexpr std::int64_t kPointerSize = sizeof(void*);

HostRange range_of(const Row& row) {
  return HostRange::of(row.begin, row.size);
}
HostRange cell_of(const Row& row) {
  return HostRange::of(row.base, kPointerSize);
}
void* pointer_value(const Row& row) {
  return *static_cast<void**>(row.base);
}

// The device address that stands for `base`, given the one that stands for `begin`.
void* device_base(const std::byte* device_begin, const void* begin, const void* base) {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(base);
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(device_begin) - offset);
}

std::string describe(const Mapping& mapping) {
  char text[64];
  std::snprintf(text, sizeof text, "%p (%lld bytes)", mapping.host.address(),
                static_cast<long long>(mapping.host.size()));
  return mapping.name.empty() ? std::string("the object at ") + text : mapping.name + " at " + text;
}

// OpenMP forbids mapping more of an object than is present; users know LLVM's words for it.
MappingFault extension(HostRange wanted, const Mapping& present) {
  char text[192];
  std::snprintf(
      text, sizeof text,
      "explicit extension not allowed: host address specified is 0x%016lx (%lld bytes), but device allocation "
      "maps to host at 0x%016lx (%lld bytes)",
      wanted.begin, static_cast<long long>(wanted.size()), present.host.begin,
      static_cast<long long>(present.host.size()));
  return {MappingFault::Kind::kExtension, text};
}

// `modifier` is "map type", or "motion" in an update.
MappingFault absence(HostRange wanted, const char* modifier = "map type") {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "device mapping required by 'present' %s modifier does not exist for host address 0x%016lx (%lld bytes)",
      modifier, wanted.begin, static_cast<long long>(wanted.size()));
  return {MappingFault::Kind::kAbsent, text};
}

// Where a row without bytes points.
void* empty_section(const Row& row) {
  if (row.has(kSection))
    return row.begin;
  return row.has(kPointer) ? pointer_value(row) : row.base;
}

// The address that a row hands to the kernel as it is, or 0. It may be the device's, a host address, or no
// address at all.
std::uintptr_t possible_device_address(const Row& row) {
  constexpr std::uintptr_t kLowest = 4096; // nothing is mapped below
  const void* const given = row.has(kValue) ? row.base : row.maps() && row.size == 0 ? empty_section(row) : nullptr;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(given);
  return address >= kLowest ? address : 0;
}

// What lies in both: an implicit row may reach past the object that serves it.
HostRange common(HostRange a, HostRange b) {
  const std::uintptr_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// Vectors and long doubles in a struct need its start where it is on the host, modulo 16.
std::ptrdiff_t padding_of(HostRange hull) {
  constexpr std::uintptr_t kMost = 16;
  return static_cast<std::ptrdiff_t>(hull.begin % kMost);
}

// A row that only asks where its object is.
bool is_question(const Row& row) {
  return row.any(kArgument | kReturn) && !row.any(kCounts | kTo | kFrom);
}

// A row that only reserves the hull of a partly mapped struct: the rows that follow, without a count
// of their own, say which parts of it the program maps.
bool is_hull(Rows rows, std::size_t index) {
  const Row& row = rows[index];
  if (!row.has(kCounts) || row.any(kTo | kFrom | kPointer))
    return false;
  const HostRange hull = range_of(row);
  return std::any_of(rows.begin(), rows.end(), [&](const Row& part) {
    return part.maps() && !part.has(kCounts) && !is_question(part) &&
           hull.contains(part.has(kPointer) ? cell_of(part) : range_of(part));
  });
}

// Whether the hull's ends are those of its parts, as compilers make it. A row that reaches further is
// an allocation of its own: what lies beside the parts is the device's, too.
bool is_tight(Rows rows, std::size_t index) {
  const HostRange hull = range_of(rows[index]);
  HostRange parts{hull.end, hull.begin};
  for (const Row& part : rows) {
    const HostRange range = part.has(kPointer) ? cell_of(part) : range_of(part);
    if (!part.maps() || part.has(kCounts) || is_question(part) || !hull.contains(range))
      continue;
    parts.begin = std::min(parts.begin, range.begin);
    parts.end = std::max(parts.end, range.end);
  }
  return parts.begin == hull.begin && parts.end == hull.end;
}

} // namespace

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

void DataEnvironment::add(const MappingPtr& mapping, Lock& lock) {
  ObjectIndex::insert(lock.shard_of(*mapping), *mapping);
  regions_.add(mapping->host);
  table_.insert(mapping);
}

// Calls that use it keep the record; its device memory goes with it.
void DataEnvironment::remove(Mapping& mapping, Lock& lock) {
  ObjectIndex::Shard& shard = lock.shard_of(mapping);
  if (mapping.state == Mapping::State::kVacant)
    --shard.vacant;
  set_sound(mapping);
  mapping.state = Mapping::State::kGone;
  ObjectIndex::erase(shard, mapping);
  regions_.remove(mapping.host);
  MappingPtr share = table_.erase(mapping);
  lock.wake_those_who_wait_for(mapping);
  if (mapping.pins > 0) // the last of those calls gives it up
    mapping.self = std::move(share);
}

// Whether something ran on the device after the birth shows later whether anybody may have written there.
void DataEnvironment::note_birth(Mapping& mapping) {
  mapping.born = activity_.load(std::memory_order_relaxed);
  newborns_.store(true, std::memory_order_relaxed);
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
    throw extension(wanted, *found.mapping);
  if (found.overlap == Overlap::kNone && row.has(kPresent) && !shares_host_memory())
    throw absence(wanted);
  return found.mapping;
}

// The same where nothing is to be created: on LLVM, what is there in part is not there.
MappingPtr DataEnvironment::find_known(const Row& row, HostRange wanted, Lock& lock, const char* modifier) {
  const Lookup found = look_up(wanted, lock);
  if (found.overlap == Overlap::kPartial && !row.any(kImplicit | kSection))
    throw extension(wanted, *found.mapping);
  if (found.overlap == Overlap::kWhole || (found.overlap == Overlap::kPartial && row.has(kImplicit)))
    return found.mapping;
  if (row.has(kPresent) && !shares_host_memory())
    throw absence(wanted, modifier);
  return nullptr;
}

// The object that holds `wanted`, created if absent. Null on a device that shares the host's memory.
MappingPtr DataEnvironment::obtain(const Row& row, HostRange wanted, const void* call, Lock& lock,
                                   std::ptrdiff_t padding) {
  MappingPtr known = find_for(row, wanted, lock);
  if (known || shares_host_memory())
    return known;
  MappingPtr created = MappingPtr::make(wanted, memory_.allocate(wanted.size() + padding, wanted.address()), &memory_);
  if (created->device) {
    created->device += padding;
    created->padding = padding;
  }
  created->state = Mapping::State::kCreating;
  created->creator = call;
  note_birth(*created);
  if (!created->device) {
    set_unusable(*created);
    set_host_current(*created, true);
  }
  add(created, lock);
  return created;
}

// ---- begin ----

void DataEnvironment::bind_counted(Rows rows, std::size_t index, Binding& binding, const void* call, Lock& lock) {
  const Row& row = rows[index];
  if (!row.has(kPointer) && !row.has(kCounts))
    return;
  const auto count = [&](Mapping& mapping) { ++(row.has(kHold) ? mapping.holds : mapping.references); };
  if (row.size == 0)
    binding.object = look_up_empty(row, lock);
  else
    binding.object = obtain(row, range_of(row), call, lock, is_hull(rows, index) ? padding_of(range_of(row)) : 0);
  if (row.size == 0 && !binding.object && row.has(kPresent) && !shares_host_memory())
    throw absence(HostRange::of(empty_section(row), 0));
  if (binding.object) {
    count(*binding.object);
    const void* const base = row.has(kPointer) ? pointer_value(row) : row.base;
    if (binding.object->creator == call && binding.object->host.address() == row.begin && base < row.begin)
      binding.object->base = reinterpret_cast<std::uintptr_t>(base);
  }
  if (row.has(kPointer) && row.has(kCounts)) {
    Row cell = row; // that the pointee must be present says nothing about its pointer
    cell.flags &= ~static_cast<std::uint32_t>(kPresent | kImplicit);
    binding.cell = obtain(cell, cell_of(row), call, lock);
    if (binding.cell)
      count(*binding.cell);
  }
}

void DataEnvironment::bind_uncounted(const Row& row, Binding& binding, const void* call, Lock& lock) {
  if (!row.has(kCounts)) {
    MappingPtr& place = row.has(kPointer) ? binding.cell : binding.object;
    const HostRange wanted = row.has(kPointer) ? cell_of(row) : range_of(row);
    if (wanted.size() > 0)
      place = find_for(row, wanted, lock);
    else if (row.has(kSection))
      place = look_up_empty(row, lock);
    if (!place && !shares_host_memory() && wanted.size() > 0 && !row.has(kImplicit))
      say("nothing is mapped at %p (%lld bytes): no row that counts maps what this row is part of; it is ignored",
          wanted.address(), static_cast<long long>(wanted.size()));
  }
  const auto fresh = [&](const MappingPtr& mapping) {
    return mapping && lock.touch(*mapping).state == Mapping::State::kCreating && mapping->creator == call;
  };
  binding.object_fresh = fresh(binding.object);
  binding.cell_fresh = fresh(binding.cell);
}

// A pointer that is to be attached if either side of it is new: nothing is counted, and either may be
// absent.
void DataEnvironment::bind_attached(const Row& row, Binding& binding, const void* call, Lock& lock) {
  if (!row.base || !row.begin || row.size < kPointerSize)
    return;
  const Lookup cell = look_up(HostRange::of(row.base, row.size), lock);
  binding.cell = cell.overlap == Overlap::kWhole ? cell.mapping : nullptr;
  binding.object = look_up_empty(row, lock);
  const auto fresh = [&](const MappingPtr& mapping) { return mapping && lock.touch(*mapping).creator == call; };
  binding.object_fresh = fresh(binding.object);
  binding.cell_fresh = fresh(binding.cell);
}

// Keeps account of which parts of a struct the program maps: the holes of a hull hold nothing.
void DataEnvironment::note_parts(Rows rows, std::size_t index, Bindings& bound, Lock& lock) {
  const Row& row = rows[index];
  const Binding& binding = bound[index];
  if (!binding.object || row.size == 0 || is_question(row))
    return;
  Mapping& object = lock.touch(*binding.object);
  const bool first_use =
      binding.object_fresh && std::none_of(bound.begin(), bound.begin() + static_cast<std::ptrdiff_t>(index),
                                           [&](const Binding& other) { return other.object == binding.object; });
  if (is_hull(rows, index)) {
    object.hull = object.hull || (first_use && is_tight(rows, index));
    return;
  }
  const HostRange part = range_of(row);
  if (object.hull && std::none_of(object.parts.begin(), object.parts.end(),
                                  [&](const HostRange& known) { return known.contains(part); }))
    object.parts.push_back(part);
}

std::string DataEnvironment::begin(Rows rows, Bindings& bound, Purpose purpose) {
  bool all_there = true; // as in most calls: nothing to create, to wait for or to complain about
  {
    Lock lock(*this);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].maps())
        bind_counted(rows, i, bound[i], &bound, lock);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].maps()) {
        bind_uncounted(rows[i], bound[i], &bound, lock);
        note_parts(rows, i, bound, lock);
      } else if (rows[i].has(kAttach)) {
        bind_attached(rows[i], bound[i], &bound, lock);
      }
      for (Mapping* mapping : {bound[i].object.get(), bound[i].cell.get()})
        all_there =
            all_there && (!mapping || (lock.touch(*mapping).state == Mapping::State::kReady && !mapping->unusable));
    }
    if (CallLog* const log = CallLog::current()) [[unlikely]]
      log->mapped(rows, bound, shares_host_memory());
  }
  if (!all_there) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].maps())
        copy_in(rows[i], bound[i]);
    publish(bound);
  }
  const bool refreshed = refresh(rows, bound, purpose);
  std::string failure = all_there && refreshed ? "" : fault(bound);
  // One object that the device does not take leaves the others' addresses as they are.
  if (failure.empty() || purpose == Purpose::kData)
    return_pointers(rows, bound);
  return failure;
}

// Fills what this call created.
void DataEnvironment::copy_in(const Row& row, Binding& binding) {
  bool filled = true;
  if (binding.object_fresh && row.has(kTo) && row.size > 0)
    filled = copy(Direction::kToDevice, *binding.object, common(range_of(row), binding.object->host));
  const bool attached = !row.has(kPointer) || !binding.cell_fresh || attach(row, binding);
  if (filled && attached && !row.has(kTo))
    return;
  if (binding.object_fresh)
    note_written(binding.object.get());
  for (Mapping* broken : {filled ? nullptr : binding.object.get(), attached ? nullptr : binding.cell.get()})
    if (broken) {
      const auto guard = index_.guard(*broken);
      set_unusable(*broken);
      set_host_current(*broken, true);
    }
}

// Initialises the device's copy of a pointer with the base device address of its pointee. A pointer
// to nothing that is present becomes null, unless it already points somewhere on the device.
bool DataEnvironment::attach(const Row& row, Binding& binding) {
  if (!binding.cell)
    return true;
  void* const host_value = pointer_value(row);
  void* value = nullptr;
  const Mapping* const object = binding.object.get();
  if (object && object->device) {
    const void* begin = row.size || row.has(kSection) ? row.begin : host_value;
    value = device_base(object->at(reinterpret_cast<std::uintptr_t>(begin)), begin, host_value);
  } else if (!object && shares_host_memory()) {
    value = host_value;
  }
  const std::uintptr_t cell = cell_of(row).begin;
  // Of a side without device memory it is noted, too, where the pointer leads: a region that falls back
  // needs both.
  const bool possible = binding.cell->device && (!object || object->device);
  {
    const auto guard = index_.guard(*binding.cell);
    std::vector<AttachedPointer>& pointers = binding.cell->pointers;
    const auto at =
        std::lower_bound(pointers.begin(), pointers.end(), cell,
                         [](const AttachedPointer& known, std::uintptr_t sought) { return known.cell < sought; });
    const bool known = at != pointers.end() && at->cell == cell;
    if (known && at->arrived && (at->device_value == value || !value))
      return possible || !binding.cell->device;
    const AttachedPointer now{cell, value, reinterpret_cast<std::uintptr_t>(host_value), possible};
    if (known)
      *at = now;
    else
      pointers.insert(at, now);
  }
  if (!possible)
    return !binding.cell->device;
  if (CallLog* const log = CallLog::current()) [[unlikely]]
    log->attached(*binding.cell, row, value, binding.cell->at(cell));
  if (memory_.submit(binding.cell->at(cell), &value, kPointerSize))
    return true;
  const auto guard = index_.guard(*binding.cell);
  for (AttachedPointer& pointer : binding.cell->pointers)
    pointer.arrived = pointer.arrived && pointer.cell != cell;
  return false;
}

// This call's objects are complete; waits until those of other calls are.
void DataEnvironment::publish(Bindings& bound) {
  Lock lock(*this);
  const auto each = [&](const auto& visit) {
    for (Binding& binding : bound)
      for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
        if (mapping)
          visit(*mapping);
  };
  each([&](Mapping& mapping) {
    if (lock.touch(mapping).creator == &bound) {
      mapping.state = Mapping::State::kReady;
      mapping.creator = nullptr;
      lock.wake_those_who_wait_for(mapping);
    }
  });
  each([&](Mapping& mapping) {
    while (lock.touch(mapping).state == Mapping::State::kCreating)
      lock.wait_for(mapping);
  });
}

// For a kAttach row, once everything of the call is in place.
bool DataEnvironment::attach_later(const Row& row, Binding& binding) {
  const bool wanted = binding.object_fresh || binding.cell_fresh || row.has(kAlways);
  if (!binding.object || !binding.cell || !wanted)
    return true;
  // What follows the address, in the descriptors of Fortran.
  const HostRange rest{cell_of(row).end, cell_of(row).begin + static_cast<std::uintptr_t>(row.size)};
  if (!attach(row, binding) || (rest.size() > 0 && !copy(Direction::kToDevice, *binding.cell, rest)))
    return false;
  if (rest.size() > 0)
    note_written(binding.cell.get());
  return true;
}

std::string DataEnvironment::not_there(const Mapping& mapping) const {
  return (mapping.device ? "the device did not take a copy of " : "the device has no memory for ") + describe(mapping) +
         memory_.last_error();
}

// Which object of the call has no usable copy on the device, or "".
std::string DataEnvironment::fault(Bindings& bound) {
  Lock lock(*this);
  for (const Binding& binding : bound)
    for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
      if (mapping && (lock.touch(*mapping).unusable || (binding.refused && mapping == binding.object.get()) ||
                      (binding.cell_refused && mapping == binding.cell.get())))
        return not_there(*mapping);
  return {};
}

// Copies and pointers that a call owes to objects which were there before it. When a region's copy
// fails, the region falls back and its object is repaired from the host; an enclosing construct has
// no host version, so its program ends.
bool DataEnvironment::refresh(Rows rows, Bindings& bound, Purpose purpose) {
  bool done = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    Binding& binding = bound[i];
    if (row.has(kAttach) && !attach_later(row, binding)) {
      binding.cell_refused = true;
      done = false;
      const auto guard = index_.guard(*binding.cell);
      if (purpose == Purpose::kData)
        set_unusable(*binding.cell);
    }
    if (!row.maps())
      continue;
    if (binding.object && !binding.object_fresh && row.has(kTo | kAlways) && row.size > 0) {
      if (copy(Direction::kToDevice, *binding.object, common(range_of(row), binding.object->host))) {
        note_written(binding.object.get());
      } else {
        if (purpose == Purpose::kData)
          die("updating the device's copy of %s failed%s", describe(*binding.object).c_str(),
              memory_.last_error().c_str());
        binding.refused = true;
        done = false;
      }
    }
    if (row.has(kPointer) && !binding.cell_fresh && !attach(row, binding)) {
      binding.cell_refused = true;
      done = false;
      const auto guard = index_.guard(*binding.cell);
      if (purpose == Purpose::kData)
        set_unusable(*binding.cell);
    }
  }
  return done;
}

// What the device holds now counts, if it did not before.
void DataEnvironment::note_written(Mapping* mapping) {
  if (!mapping)
    return;
  const auto guard = index_.guard(*mapping);
  mapping->written = true;
}

// Whoever gets a device address may write there without another call.
void DataEnvironment::return_pointers(Rows rows, Bindings& bound) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].has(kReturn) || !rows[i].maps())
      continue;
    const Mapping* const place = rows[i].has(kPointer) ? bound[i].cell.get() : bound[i].object.get();
    if (!place || !is_usable(*place))
      continue;
    *rows[i].base_slot = argument(rows[i], bound[i]);
    note_written(bound[i].object.get());
    note_written(bound[i].cell.get());
  }
}

bool DataEnvironment::is_usable(const Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  return mapping.device && !mapping.unusable;
}

void* DataEnvironment::argument(const Row& row, const Binding& binding) const {
  if (row.has(kValue))
    return row.base;
  const Mapping* object = row.has(kPointer) ? binding.cell.get() : binding.object.get();
  if (!object)
    return shares_host_memory() || row.has(kHostIfAbsent) ? row.base : nullptr;
  const void* named = row.has(kPointer) || (row.size == 0 && !row.has(kSection)) ? row.base : row.begin;
  return device_base(object->at(reinterpret_cast<std::uintptr_t>(named)), named, row.base);
}

void* DataEnvironment::pointee(const Row& row, const Binding& binding) const {
  if (!binding.object || !binding.object->device)
    return nullptr;
  return device_base(binding.object->at(reinterpret_cast<std::uintptr_t>(row.begin)), row.begin, pointer_value(row));
}

// ---- end ----

void DataEnvironment::bind_released(const Row& row, Binding& binding, Lock& lock) {
  binding.object = row.size == 0 ? look_up_empty(row, lock) : find_known(row, range_of(row), lock, "map type");
  if (row.has(kPointer) && row.has(kCounts)) {
    const Lookup found = look_up(cell_of(row), lock);
    binding.cell = found.overlap == Overlap::kWhole ? found.mapping : nullptr;
  }
}

void DataEnvironment::end(Rows rows) {
  Bindings bound(rows.size());
  {
    Lock lock(*this);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].maps())
        continue;
      bind_released(rows[i], bound[i], lock);
      // Another call is still filling it: look again when it is done.
      for (Mapping* mapping : {bound[i].object.get(), bound[i].cell.get()})
        if (mapping && lock.touch(*mapping).state == Mapping::State::kCreating) {
          lock.wait_for(*mapping);
          --i;
          break;
        }
    }
  }
  end(rows, bound, Release::kNormal);
}

void DataEnvironment::drop(const Row& row, Binding& binding, Release release) {
  const bool forced = release == Release::kNormal && row.has(kDelete);
  const auto drop_one = [&](Mapping* mapping, bool counted) {
    if (!mapping || mapping->infinite)
      return;
    std::int64_t& count = row.has(kHold) ? mapping->holds : mapping->references;
    if (forced)
      count = 0;
    else if (counted && count > 0)
      --count;
  };
  drop_one(binding.object.get(), row.any(kCounts | kPointer));
  // DELETE is about the pointee: the pointer's cell goes by its count.
  if (Mapping* cell = binding.cell.get(); cell && !cell->infinite && row.has(kCounts))
    if (std::int64_t& count = row.has(kHold) ? cell->holds : cell->references; count > 0)
      --count;
}

void DataEnvironment::end(Rows rows, Bindings& bound, Release release, const char* region) {
  const auto leaves = [](const MappingPtr& mapping) {
    return mapping && !mapping->infinite && mapping->references == 0 && mapping->holds == 0;
  };
  Mappings leaving;
  {
    Lock lock(*this);
    for (Binding& binding : bound)
      for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
        if (mapping)
          lock.touch(*mapping);
    for (std::size_t i = rows.size(); i-- > 0;)
      if (rows[i].maps())
        drop(rows[i], bound[i], release);
    for (Binding& binding : bound) {
      for (const MappingPtr& mapping : {std::cref(binding.object), std::cref(binding.cell)})
        if (leaves(mapping) && mapping->state == Mapping::State::kReady) {
          mapping->state = Mapping::State::kLeaving;
          if (region)
            mapping->released_by = region;
          leaving.push_back(mapping);
        }
      binding.leaving = std::find(leaving.begin(), leaving.end(), binding.object) != leaving.end();
      binding.host_current = binding.object && binding.object->host_current;
    }
    if (CallLog* const log = CallLog::current()) [[unlikely]]
      log->released(rows, bound);
  }
  for (std::size_t i = rows.size(); release == Release::kNormal && i-- > 0;) {
    const Row& row = rows[i];
    const Binding& binding = bound[i];
    const bool wanted = row.maps() && row.has(kFrom) && row.size > 0 && (binding.leaving || row.has(kAlways));
    if (wanted && binding.object && !binding.host_current &&
        !copy(Direction::kToHost, *binding.object, common(range_of(row), binding.object->host)))
      die("%s%s%scopying back %s failed%s", region ? "region " : "", region ? region : "", region ? ": " : "",
          describe(*binding.object).c_str(), memory_.last_error().c_str());
  }
  if (leaving.empty())
    return;
  Lock lock(*this);
  for (const MappingPtr& mapping : leaving)
    remove(*mapping, lock);
}

// ---- copies ----

// Copies a range of a mapping, except for pointers that have been attached and what `except` names.
bool DataEnvironment::copy(Direction direction, const Mapping& mapping, HostRange range,
                           std::span<const HostRange> except) {
  if (!mapping.device || mapping.own_value)
    return true;
  if (CallLog* const log = CallLog::current()) [[unlikely]] {
    if (direction == Direction::kToDevice)
      log->copied_in(mapping, range.address(), mapping.at(range.begin), range.size());
    else
      log->copied_out(mapping, range.address(), mapping.at(range.begin), range.size());
  }
  const auto move = [&](HostRange piece) {
    std::byte* const device = mapping.at(piece.begin);
    return direction == Direction::kToDevice ? memory_.submit(device, piece.address(), piece.size())
                                             : memory_.retrieve(piece.address(), device, piece.size());
  };
  const std::vector<HostRange> pieces = without_pointers(mapping, range, except);
  return std::all_of(pieces.begin(), pieces.end(), move);
}

// The range without attached pointers and what `except` names.
std::vector<HostRange> DataEnvironment::without_pointers(const Mapping& mapping, HostRange range,
                                                         std::span<const HostRange> except) {
  std::vector<HostRange> holes(except.begin(), except.end());
  {
    const auto guard = index_.guard(mapping);
    for (const AttachedPointer& pointer : mapping.pointers)
      holes.push_back({pointer.cell, pointer.cell + sizeof(void*)});
  }
  std::sort(holes.begin(), holes.end(), [](HostRange a, HostRange b) { return a.begin < b.begin; });
  std::vector<HostRange> pieces;
  std::uintptr_t at = range.begin;
  for (const HostRange hole : holes) {
    const HostRange piece{at, std::min(hole.begin, range.end)};
    if (piece.begin < piece.end)
      pieces.push_back(piece);
    at = std::max(at, hole.end);
  }
  if (at < range.end || pieces.empty())
    pieces.push_back({at, std::max(at, range.end)});
  return pieces;
}

// Brings together what both sides have changed since they were equal: kernels of other threads may have
// been running when a region fell back. False: the device did not take part.
bool DataEnvironment::merge(Mapping& mapping) {
  std::vector<std::byte>& equal = *mapping.when_equal;
  std::vector<std::byte> there(equal.size());
  for (const HostRange piece : without_pointers(mapping, mapping.host, {})) {
    const std::size_t first = piece.begin - mapping.host.begin, end = piece.end - mapping.host.begin;
    std::byte* const here = static_cast<std::byte*>(mapping.host.address());
    if (!memory_.retrieve(there.data() + first, mapping.at(piece.begin), piece.size()))
      return false;
    for (std::size_t i = first; i < end; ++i) {
      if (there[i] != equal[i]) {
        here[i] = equal[i] = there[i];
        continue;
      }
      std::size_t newer = i; // a run of bytes that only the host has changed
      while (newer < end && there[newer] == equal[newer] && here[newer] != equal[newer])
        ++newer;
      if (newer == i)
        continue;
      if (!memory_.submit(mapping.device + i, here + i, static_cast<std::int64_t>(newer - i)))
        return false;
      std::copy(here + i, here + newer, equal.begin() + static_cast<std::ptrdiff_t>(i));
      i = newer - 1;
    }
  }
  return true;
}

bool DataEnvironment::copy_whole(Direction direction, const Mapping& mapping, std::span<const HostRange> except) {
  std::vector<HostRange> parts{mapping.host};
  {
    const auto guard = index_.guard(mapping);
    if (mapping.hull)
      parts = mapping.parts;
  }
  return std::all_of(parts.begin(), parts.end(),
                     [&](const HostRange& part) { return copy(direction, mapping, part, except); });
}

void DataEnvironment::update(Rows rows) {
  Bindings bound(rows.size());
  {
    Lock lock(*this);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].maps() || rows[i].size == 0)
        continue;
      const MappingPtr found = find_known(rows[i], range_of(rows[i]), lock, "motion");
      bound[i].object = found;
      if (!found)
        continue;
      while (lock.touch(*found).state == Mapping::State::kCreating)
        lock.wait_for(*found);
      bound[i].host_current = found->host_current;
      found->written = found->written || rows[i].has(kTo);
    }
    if (CallLog* const log = CallLog::current()) [[unlikely]]
      log->found(rows, bound);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!bound[i].object)
      continue;
    // What is newer on the host goes to the device as a whole, before the next region.
    if (bound[i].host_current) {
      const std::lock_guard moving(moving_);
      if (rows[i].has(kFrom) && bound[i].object->when_equal && !merge(*bound[i].object))
        die("updating %s from the device failed%s", describe(*bound[i].object).c_str(), memory_.last_error().c_str());
      continue;
    }
    const HostRange there = common(range_of(rows[i]), bound[i].object->host);
    if (rows[i].has(kTo) && !copy(Direction::kToDevice, *bound[i].object, there))
      die("updating the device's copy of %s failed%s", describe(*bound[i].object).c_str(),
          memory_.last_error().c_str());
    if (rows[i].has(kFrom) && !copy(Direction::kToHost, *bound[i].object, there))
      die("updating %s from the device failed%s", describe(*bound[i].object).c_str(), memory_.last_error().c_str());
  }
}

// ---- regions that run on the host ----

void DataEnvironment::set_host_current(Mapping& mapping, bool value) {
  if (mapping.host_current != value)
    host_current_count_.fetch_add(value ? 1 : -1, std::memory_order_relaxed);
  mapping.host_current = value;
}

// It leaves: what was wrong with it matters no more.
void DataEnvironment::set_sound(Mapping& mapping) {
  set_host_current(mapping, false);
  if (std::exchange(mapping.unusable, false))
    host_current_count_.fetch_sub(1, std::memory_order_relaxed);
}

void DataEnvironment::set_unusable(Mapping& mapping) {
  if (!mapping.unusable)
    host_current_count_.fetch_add(1, std::memory_order_relaxed);
  mapping.unusable = true;
}

// The present objects that rows and globals name, and what their attached pointers lead to. Waits
// until none of them is on its way in or out.
DataEnvironment::Mappings DataEnvironment::named(Rows rows, std::span<const HostRange> globals, Lock& lock) {
  for (;;) {
    Mappings found;
    const auto add_all = [&](const Mappings& mappings) {
      for (const MappingPtr& mapping : mappings)
        if (lock.touch(*mapping).state != Mapping::State::kVacant &&
            std::find(found.begin(), found.end(), mapping) == found.end())
          found.push_back(mapping);
    };
    const auto add = [&](HostRange range) { add_all(table_.overlapping(range)); };
    for (const Row& row : rows) {
      if (!row.maps())
        continue;
      if (row.has(kPointer))
        add(cell_of(row));
      if (row.size > 0)
        add(range_of(row));
      else
        add(HostRange::of(empty_section(row), 1));
    }
    for (const HostRange global : globals)
      add(global);
    for (std::size_t i = 0; i < found.size(); ++i) // grows while it runs
      for (const AttachedPointer& pointer : std::vector(found[i]->pointers))
        add({pointer.pointee, pointer.pointee + 1});
    const auto unsettled = std::find_if(found.begin(), found.end(), [&](const MappingPtr& mapping) {
      return lock.touch(*mapping).state != Mapping::State::kReady && mapping->state != Mapping::State::kGone;
    });
    if (unsettled == found.end())
      return found;
    lock.wait_for(**unsettled);
  }
}

// The ready objects whose device memory a kernel may be given the address of: is_device_ptr, or a pointer
// to nothing that is mapped. Caller holds the lock.
DataEnvironment::Mappings DataEnvironment::named_by_device_address(Rows rows, Lock& lock) {
  Mappings found;
  for (const Row& row : rows)
    if (const std::uintptr_t address = possible_device_address(row))
      for (const MappingPtr& mapping : on_device({address, 1}, lock))
        if (mapping->state == Mapping::State::kReady)
          found.push_back(mapping);
  return found;
}

std::string DataEnvironment::make_device_current(Rows rows, std::span<const HostRange> globals) {
  Mappings stale;
  {
    Lock lock(*this);
    stale = named(rows, globals, lock);
    for (const MappingPtr& mapping : stale)
      if (lock.touch(*mapping).unusable)
        return not_there(*mapping);
    for (const Row& row : rows) // use_device_ptr leaves the host's address of what the device did not take
      if (const std::uintptr_t address = possible_device_address(row))
        if (const auto host = table_.find(reinterpret_cast<const void*>(address)); host && lock.touch(*host).unusable)
          return not_there(*host);
    const Mappings more = named_by_device_address(rows, lock);
    stale.insert(stale.end(), more.begin(), more.end());
  }
  return submit_host_current(std::move(stale));
}

std::string DataEnvironment::make_device_current(const void* device, std::size_t size) {
  Mappings stale;
  if (any_host_current()) {
    Lock lock(*this);
    stale = on_device({reinterpret_cast<std::uintptr_t>(device), size}, lock);
    std::erase_if(stale, [](const MappingPtr& mapping) { return mapping->state != Mapping::State::kReady; });
  }
  return submit_host_current(std::move(stale));
}

// Returns which of them could not be copied, or "".
std::string DataEnvironment::submit_host_current(Mappings stale) {
  if (stale.empty())
    return {};
  const std::lock_guard moving(moving_);
  for (const MappingPtr& mapping : stale) {
    {
      const auto guard = index_.guard(*mapping);
      if (!mapping->host_current || !mapping->device || mapping->unusable)
        continue;
    }
    if (!(mapping->when_equal ? merge(*mapping) : copy_whole(Direction::kToDevice, *mapping, {})))
      return "the device did not take a copy of " + describe(*mapping) + memory_.last_error();
    mapping->when_equal.reset();
    const auto guard = index_.guard(*mapping);
    mapping->written = true;
    set_host_current(*mapping, false);
  }
  return {};
}

// What a region that falls back is given the device address of, it will use where it is.
void DataEnvironment::keep_on_device(Rows rows, const std::string& region) {
  for (const Row& row : rows)
    if (const std::uintptr_t address = possible_device_address(row); address && is_out_of_reach(address))
      die("region %s must run on the host, but the host cannot use %p, which is memory of the device", region.c_str(),
          reinterpret_cast<void*>(address));
  Mappings there;
  if (any_host_current()) {
    Lock lock(*this);
    there = named_by_device_address(rows, lock);
  }
  if (const std::string failure = submit_host_current(std::move(there)); !failure.empty())
    die("region %s must run on the host, but %s", region.c_str(), failure.c_str());
}

bool DataEnvironment::is_out_of_reach(std::uintptr_t address) {
  if (shares_host_memory() || memory_.is_addressable())
    return false;
  Lock lock(*this);
  const auto after = allocations_.upper_bound(address);
  return !on_device({address, 1}, lock).empty() ||
         (after != allocations_.begin() && address - std::prev(after)->first < std::prev(after)->second);
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

void DataEnvironment::make_host_current(Rows rows, std::span<const HostRange> globals, const std::string& region) {
  keep_on_device(rows, region);
  // What the region would have copied to the device in any case is newer on the host.
  std::vector<HostRange> newer;
  for (const Row& row : rows)
    if (row.maps() && row.has(kTo | kAlways) && row.size > 0)
      newer.push_back(range_of(row));
  Mappings all;
  {
    Lock lock(*this);
    all = named(rows, globals, lock);
  }
  const std::lock_guard moving(moving_);
  for (const MappingPtr& mapping : all) {
    if (!needs_retrieval(*mapping))
      continue;
    if (!copy_whole(Direction::kToHost, *mapping, newer))
      die("region %s must run on the host, but copying %s from the device failed%s", region.c_str(),
          describe(*mapping).c_str(), memory_.last_error().c_str());
    if (can_merge(*mapping, newer)) {
      const auto* const here = static_cast<const std::byte*>(mapping->host.address());
      mapping->when_equal = std::make_unique<std::vector<std::byte>>(here, here + mapping->host.size());
    }
    const auto guard = index_.guard(*mapping);
    set_host_current(*mapping, true);
  }
  forget_deleted(rows);
}

// Whether all of it is equal on both sides after it has been copied to the host, except for `newer`.
bool DataEnvironment::can_merge(const Mapping& mapping, std::span<const HostRange> newer) {
  return mapping.device && !mapping.own_value && !mapping.hull && !mapping.unusable &&
         std::none_of(newer.begin(), newer.end(), [&](HostRange range) { return range.overlaps(mapping.host); });
}

// Whether the host lacks what the device has; memory that nobody has written to yet holds nothing.
bool DataEnvironment::needs_retrieval(Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  const bool untouched =
      !mapping.infinite && !mapping.written && mapping.born == activity_.load(std::memory_order_relaxed);
  if (untouched)
    set_host_current(mapping, true);
  return !mapping.host_current;
}

void DataEnvironment::forget_deleted(Rows rows) {
  Mappings gone; // freed without the lock
  Lock lock(*this);
  for (const Row& row : rows) {
    if (!row.maps() || !row.has(kDelete) || (row.size == 0 && !row.any(kCounts | kPointer)))
      continue;
    const Lookup whole = row.size == 0 ? Lookup{} : look_up(range_of(row), lock);
    const MappingPtr found = row.size == 0                      ? look_up_empty(row, lock)
                             : whole.overlap == Overlap::kWhole ? whole.mapping
                                                                : nullptr;
    if (!found || found->infinite || found->state != Mapping::State::kReady)
      continue;
    (row.has(kHold) ? found->holds : found->references) = 0;
    if (found->references != 0 || found->holds != 0)
      continue;
    remove(*found, lock);
    gone.push_back(found);
  }
}

// ---- mappings that no construct counts ----

bool DataEnvironment::insert_infinite(HostRange host, void* device, const std::string& name, Sync sync, Lock& lock) {
  if (look_up_any(host, lock).overlap != Overlap::kNone)
    return false;
  MappingPtr mapping = MappingPtr::make(host, static_cast<std::byte*>(device), nullptr);
  mapping->infinite = true;
  mapping->name = name;
  mapping->own_value = sync == Sync::kNever;
  add(mapping, lock);
  return true;
}

bool DataEnvironment::map_global(HostRange host, void* device, const std::string& name, Sync sync) {
  Lock lock(*this);
  return insert_infinite(host, device, name, sync, lock);
}

void DataEnvironment::unmap_global(HostRange host) {
  Lock lock(*this);
  const Lookup found = look_up_any(host, lock);
  if (found.overlap == Overlap::kWhole && !found.mapping->name.empty())
    remove(*found.mapping, lock);
}

bool DataEnvironment::associate(HostRange host, void* device) {
  Lock lock(*this);
  const Lookup found = look_up_any(host, lock);
  if (found.overlap == Overlap::kNone)
    return insert_infinite(host, device, {}, Sync::kCopied, lock);
  const Mapping& known = *found.mapping;
  return known.infinite && known.host.begin == host.begin && known.host.end == host.end && known.device == device;
}

bool DataEnvironment::disassociate(const void* host) {
  Lock lock(*this);
  const MappingPtr found = look_up_any(HostRange::of(host, 1), lock).mapping;
  if (!found || !found->infinite || !found->name.empty() || found->host.address() != host)
    return false;
  remove(*found, lock);
  return true;
}

void* DataEnvironment::device_address(const void* host) {
  Lock lock(*this);
  const MappingPtr found = look_up_any(HostRange::of(host, 1), lock).mapping;
  if (found && found->device && found->state != Mapping::State::kLeaving)
    return found->at(reinterpret_cast<std::uintptr_t>(host));
  return shares_host_memory() ? const_cast<void*>(host) : nullptr;
}

std::vector<MappedObject> DataEnvironment::objects() {
  Lock lock(*this);
  std::vector<MappedObject> all;
  for (const MappingPtr& found : table_.overlapping({0, UINTPTR_MAX})) {
    const Mapping& mapping = lock.touch(*found);
    if (mapping.state != Mapping::State::kVacant)
      all.push_back({mapping.host, mapping.device, mapping.references, mapping.holds, mapping.infinite, mapping.name});
  }
  return all;
}

bool DataEnvironment::is_present(const void* host) {
  Lock lock(*this);
  const MappingPtr found = look_up_any(HostRange::of(host, 1), lock).mapping;
  return shares_host_memory() || (found && found->device && found->state != Mapping::State::kLeaving);
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/begin.h"

#include "data/report.h"
#include "data/table/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"

#include <algorithm>

namespace omptool {
namespace {

// As the device's address of the base would be, if its object began at address 0.
void* null_for(const Row& row) {
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(row.begin) - reinterpret_cast<std::uintptr_t>(row.base);
  return reinterpret_cast<void*>(std::uintptr_t{0} - offset);
}

} // namespace

void Begin::take_position(Rows rows, Held& held, Purpose purpose, Passage passage, CommandList& commands,
                          const char* region, std::span<const HostRange> globals) {
  HostFallback::end();
  {
    PresentTable::Lock lock(table_);
    order_.wait_until_none_leaves(rows, lock);
    binder_.bind(rows, held, lock);
    order_.queue_behind(held, commands, lock);
    if (purpose == Purpose::kRegion && table_.any_host_current()) [[unlikely]]
      host_side_.note_stale(rows, globals, held, commands, lock);
    held.leaves_events = commands.leaves_events();
    if (held.leaves_events)
      order_.leave_events(rows, held, purpose, commands, lock);
    if (passage == Passage::kThrough)
      end_.release(rows, held, Release::kNormal, commands, region, lock);
  }
  held.over.clear();
  if (!held.all_there)
    provide(held);
  if (observe::heard()) [[unlikely]] {
    PresentTable::Lock lock(table_);
    report_rows(observe::RowsSeen::Kind::kMapped, memory_.number(), sharing_.any(), rows, held.bound);
  }
  if (held.all_there || !held.leaves_events)
    return;
  publish(held); // what is there is said by its events
  wait_for_others(held);
}

std::string Begin::copy_in(Rows rows, Held& held, Purpose purpose, CommandList& commands) {
  Bindings& bound = held.bound;
  if (!held.all_there) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].maps())
        copy_in(rows[i], bound[i], commands);
    if (!held.leaves_events) {
      publish(held);
      wait_for_others(held);
    }
  }
  const bool refreshed = refresh(rows, bound, purpose, commands);
  std::string failure = held.all_there && refreshed ? "" : fault(held, commands.failure());
  commands.set_filled();
  return failure;
}

std::string Begin::lacks(Held& held) {
  return held.all_there ? std::string() : fault(held, {});
}

// Gives memory to what this call created; no lock is held, and nobody else looks at the objects. One that the
// device has no room for is for the host alone.
void Begin::provide(Held& held) {
  const auto provide_one = [&](Mapping& mapping) {
    {
      const auto guard = table_.guard(mapping); // others may leave their events with it
      if (mapping.device || mapping.unusable)
        return true;
    }
    std::byte* const device =
        memory_.allocate(static_cast<std::int64_t>(mapping.host.size()) + mapping.padding, mapping.host.address());
    if (!device) {
      table_.break_object(mapping);
      return false;
    }
    const auto guard = table_.guard(mapping);
    mapping.device = device + mapping.padding;
    return true;
  };
  for (Binding& binding : held.bound) {
    binding.refused = binding.object_fresh && !provide_one(*binding.object);
    binding.cell_refused = binding.cell_fresh && !provide_one(*binding.cell);
  }
}

// Fills what this call created.
void Begin::copy_in(const Row& row, Binding& binding, CommandList& commands) {
  bool filled = true;
  if (binding.object_fresh && row.has(kTo) && row.size > 0)
    filled =
        transfers_.copy(Direction::kToDevice, *binding.object, common(range_of(row), binding.object->host), commands);
  const bool attached = !row.has(kPointer) || !binding.cell_fresh || transfers_.attach(row, binding, commands);
  if (filled && attached && !row.has(kTo))
    return;
  if (binding.object_fresh)
    table_.note_written(binding.object.get());
  if (!filled) {
    binding.refused = true;
    table_.break_object(*binding.object);
  }
  if (!attached) {
    binding.cell_refused = true;
    table_.break_object(*binding.cell);
  }
}

// Where a copy has failed after it was queued, nobody can tell which: what the call created is for the host alone.
// Returns which object the device has not, or "". What was there before has been changed in part, and the program
// ends, as in refresh().
std::string Begin::refuse(Rows rows, Held& held, const std::string& why) {
  if (why.empty())
    return {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Binding& binding = held.bound[i];
    const bool updates = rows[i].maps() && binding.object && rows[i].has(kTo | kAlways) && rows[i].size > 0;
    const bool attaches = binding.cell && rows[i].any(kPointer | kAttach);
    if ((updates && !binding.object_fresh) || (attaches && !binding.cell_fresh))
      die("%s", why.c_str());
    if (binding.object_fresh)
      table_.break_object(*binding.object);
    if (binding.cell_fresh)
      table_.break_object(*binding.cell);
  }
  return fault(held, " (" + why + ")");
}

// This call's objects are complete.
void Begin::publish(Held& held) {
  PresentTable::Lock lock(table_);
  for (Binding& binding : held.bound)
    for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
      if (mapping && lock.touch(*mapping).creator == &held.bound) {
        if (mapping->state == Mapping::State::kCreating) // else it has left already
          mapping->state = Mapping::State::kReady;
        mapping->creator = nullptr;
        lock.wake_those_who_wait_for(*mapping);
      }
}

// Waits until what other calls create is there. No call does so with an unfinished object of its own.
void Begin::wait_for_others(Held& held) {
  PresentTable::Lock lock(table_);
  for (Binding& binding : held.bound)
    for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
      while (mapping && lock.touch(*mapping).state == Mapping::State::kCreating)
        lock.wait_for(*mapping);
}

std::string Begin::not_there(const Mapping& mapping, const std::string& why) const {
  return (mapping.device ? "the device did not take a copy of " : "the device has no memory for ") + describe(mapping) +
         why;
}

// Which object of the call has no usable copy on the device, or "".
std::string Begin::fault(Held& held, const std::string& why) {
  PresentTable::Lock lock(table_);
  for (const Binding& binding : held.bound)
    for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
      if (mapping && (lock.touch(*mapping).unusable || (binding.refused && mapping == binding.object.get()) ||
                      (binding.cell_refused && mapping == binding.cell.get())))
        return not_there(*mapping, why.empty() ? memory_.last_error() : why);
  for (const MappingPtr& mapping : held.stale)
    if (lock.touch(*mapping).unusable)
      return not_there(*mapping, why.empty() ? memory_.last_error() : why);
  return {};
}

// Copies and pointers that a call owes to objects which were there before it. When a region's copy
// fails, the region falls back and its object is repaired from the host; an enclosing construct has
// no host version, so its program ends.
bool Begin::refresh(Rows rows, Bindings& bound, Purpose purpose, CommandList& commands) {
  bool done = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    Binding& binding = bound[i];
    if (row.has(kAttach) && !attach_later(row, binding, commands)) {
      binding.cell_refused = true;
      done = false;
      const auto guard = table_.guard(*binding.cell);
      if (purpose == Purpose::kData)
        table_.set_unusable(*binding.cell);
    }
    if (!row.maps())
      continue;
    if (binding.object && !binding.object_fresh && row.has(kTo | kAlways) && row.size > 0) {
      if (diverged_.send(*binding.object, common(range_of(row), binding.object->host), commands)) {
        table_.note_written(binding.object.get());
      } else {
        if (purpose == Purpose::kData)
          die("updating the device's copy of %s failed%s", describe(*binding.object).c_str(),
              commands.failure().c_str());
        binding.refused = true;
        done = false;
      }
    }
    if (row.has(kPointer) && !binding.cell_fresh && !transfers_.attach(row, binding, commands)) {
      binding.cell_refused = true;
      done = false;
      const auto guard = table_.guard(*binding.cell);
      if (purpose == Purpose::kData)
        table_.set_unusable(*binding.cell);
    }
  }
  return done;
}

// Whoever gets a device address may write there without another call.
void Begin::return_pointers(Rows rows, Held& held) {
  Bindings& bound = held.bound;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].has(kReturn) || !rows[i].maps())
      continue;
    const Mapping* const place = rows[i].has(kPointer) ? bound[i].cell.get() : bound[i].object.get();
    if (!place && rows[i].has(kNullIfAbsent) && !sharing_.any())
      *rows[i].base_slot = null_for(rows[i]);
    if (!place || !table_.is_usable(*place))
      continue;
    *rows[i].base_slot = argument(rows[i], bound[i]);
    table_.note_written(bound[i].object.get());
    table_.note_written(bound[i].cell.get());
  }
}

void* Begin::argument(const Row& row, const Binding& binding) const {
  if (row.has(kValue))
    return row.base;
  const Mapping* object = row.has(kPointer) ? binding.cell.get() : binding.object.get();
  if (!object)
    return sharing_.any() || row.has(kHostIfAbsent) ? row.base : nullptr;
  const void* named = row.has(kPointer) || (row.size == 0 && !row.has(kSection)) ? row.base : row.begin;
  return device_base(object->at(reinterpret_cast<std::uintptr_t>(named)), named, row.base);
}

// For a kAttach row, once everything of the call is in place.
bool Begin::attach_later(const Row& row, Binding& binding, CommandList& commands) {
  const bool wanted = binding.object_fresh || binding.cell_fresh || row.has(kAlways);
  if (!binding.object || !binding.cell || !wanted)
    return true;
  // What follows the address, in the descriptors of Fortran.
  const HostRange rest{cell_of(row).end, cell_of(row).begin + static_cast<std::uintptr_t>(row.size)};
  if (!transfers_.attach(row, binding, commands) || (rest.size() > 0 && !diverged_.send(*binding.cell, rest, commands)))
    return false;
  if (rest.size() > 0)
    table_.note_written(binding.cell.get());
  return true;
}

void* Begin::pointee(const Row& row, const Binding& binding) const {
  if (!binding.object || !binding.object->device)
    return nullptr;
  return device_base(binding.object->at(reinterpret_cast<std::uintptr_t>(row.begin)), row.begin, binding.pointer);
}

} // namespace omptool

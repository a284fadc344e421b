// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beginning of a construct: its objects are found or made, counted and filled.
#include "data/environment.h"

#include "data/mapping_fault.h"
#include "data/report.h"
#include "data/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"

#include <algorithm>

namespace omptool {
namespace {

// Vectors and long doubles in a struct need its start where it is on the host, modulo 16.
std::ptrdiff_t padding_of(HostRange enclosing) {
  constexpr std::uintptr_t kMost = 16;
  return static_cast<std::ptrdiff_t>(enclosing.begin % kMost);
}

// A row that only asks where its object is.
bool is_lookup(const Row& row) {
  return row.any(kArgument | kReturn) && !row.any(kCounts | kTo | kFrom);
}

HostRange place_of(const Row& part) {
  return part.has(kPointer) ? cell_of(part) : range_of(part);
}

Row without(Row row, std::uint32_t flags) {
  row.flags &= ~flags;
  return row;
}

bool is_part(const Row& row) {
  return row.maps() && !row.has(kCounts) && !is_lookup(row);
}

// A row that only reserves `enclosing` for a partly mapped struct: the rows that follow, without a count
// of their own, say which parts of it the program maps.
bool is_enclosing(Rows rows, std::size_t index, HostRange enclosing) {
  const Row& row = rows[index];
  return row.has(kCounts) && !row.any(kTo | kFrom | kPointer) &&
         std::any_of(rows.begin(), rows.end(),
                     [&](const Row& part) { return is_part(part) && enclosing.contains(place_of(part)); });
}

// Whether the enclosing range's ends are those of its parts, as compilers make it. A row that reaches further is
// an allocation of its own: what lies beside the parts is the device's, too.
bool is_tight(Rows rows, HostRange enclosing) {
  HostRange parts{enclosing.end, enclosing.begin};
  for (const Row& part : rows)
    if (is_part(part) && enclosing.contains(place_of(part)))
      parts = enclosing_range(parts, place_of(part));
  return parts.begin == enclosing.begin && parts.end == enclosing.end;
}

// Whether a row of the call maps something of its own in `larger`, beside what is in `reserved`.
bool any_other(Rows rows, HostRange larger, HostRange reserved) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row.maps() && row.has(kCounts) && !row.has(kPointer) && row.size > 0 && range_of(row).overlaps(larger) &&
           !reserved.contains(range_of(row));
  });
}

} // namespace

// What the row is to create: what it says and, of the parts of its struct that lie beside that, those
// between which and it nothing else is mapped (decision 30).
HostRange DataEnvironment::reserved_range(Rows rows, std::size_t index, Lock& lock) {
  for (;;) {
    HostRange reserved = range_of(rows[index]);
    bool grown = false;
    for (std::size_t i = index + 1; i < rows.size() && rows[i].has(kReserve); ++i) {
      const HostRange larger = enclosing_range(reserved, range_of(rows[i]));
      if (any_other(rows, larger, reserved) || look_up(larger, lock).overlap == Overlap::kPartial)
        continue;
      reserved = larger;
      grown = true;
    }
    // Looking up may have waited, and another thread have mapped something there.
    if (!grown || look_up(reserved, lock).overlap != Overlap::kPartial)
      return reserved;
  }
}

// Whether kernels read the pointer of the row in the host's memory, and find the host's pointee.
bool DataEnvironment::leads_to_host(const Row& row, Lock& lock) {
  return shares_host_memory() && row.has(kPointer) && !row.has(kCounts) &&
         look_up(cell_of(row), lock).overlap != Overlap::kWhole;
}

void DataEnvironment::bind_counted(Rows rows, std::size_t index, Binding& binding, const void* call, Lock& lock) {
  const Row& row = rows[index];
  if (!row.has(kPointer) && !row.has(kCounts))
    return;
  if (row.has(kPointer))
    binding.pointer = pointer_value(row);
  const auto count = [&](Mapping& mapping) { ++(row.has(kHold) ? mapping.holds : mapping.references); };
  const HostRange reserved = reserved_range(rows, index, lock);
  if (reserved.size() == 0)
    binding.object = look_up_empty(row, lock);
  else
    binding.object = obtain(leads_to_host(row, lock) ? without(row, kClose) : row, reserved, call, lock,
                            is_enclosing(rows, index, reserved) ? padding_of(reserved) : 0);
  if (reserved.size() == 0 && !binding.object && row.has(kPresent) && needs_copy(row))
    throw absence(HostRange::of(empty_section(row), 0));
  if (binding.object) {
    count(*binding.object);
    const void* const base = row.has(kPointer) ? binding.pointer : row.base;
    if (binding.object->creator == call && binding.object->host.begin == reserved.begin && base < reserved.address())
      binding.object->base = reinterpret_cast<std::uintptr_t>(base);
  }
  if (row.has(kPointer) && row.has(kCounts)) {
    // That the pointee must be present says nothing about its pointer.
    binding.cell = obtain(without(row, kPresent | kImplicit), cell_of(row), call, lock);
    if (binding.cell)
      count(*binding.cell);
  }
}

// A part of a struct, or a pointer's cell, for which no row has room. LLVM's programs map it all the same
// (decision 30).
MappingPtr DataEnvironment::obtain_part(const Row& row, HostRange wanted, const void* call, Lock& lock) {
  MappingPtr part = find_for(row, wanted, lock);
  if (!part && !shares_host_memory() && row.has(kSection) && !is_lookup(row)) {
    part = obtain(row, wanted, call, lock);
    lock.touch(*part).make_details().apart = true;
  }
  if (part && part->is_apart())
    ++(row.has(kHold) ? part->holds : part->references);
  if (!part && !shares_host_memory() && !row.has(kImplicit))
    say("nothing is mapped at %p (%lld bytes): no row that counts maps what this row is part of; it is ignored",
        wanted.address(), static_cast<long long>(wanted.size()));
  return part;
}

void DataEnvironment::bind_parts(const Row& row, Binding& binding, const void* call, Lock& lock) {
  if (!row.has(kCounts)) {
    MappingPtr& place = row.has(kPointer) ? binding.cell : binding.object;
    const HostRange wanted = place_of(row);
    if (wanted.size() > 0)
      place = obtain_part(row, wanted, call, lock);
    else if (row.has(kSection))
      place = look_up_empty(row, lock);
  }
  const auto fresh = [&](const MappingPtr& mapping) {
    return mapping && lock.touch(*mapping).state == Mapping::State::kCreating && mapping->creator == call;
  };
  binding.object_fresh = fresh(binding.object);
  binding.cell_fresh = fresh(binding.cell);
}

// Keeps account of which parts of a struct the program maps: the holes of a enclosing range hold nothing.
void DataEnvironment::note_parts(Rows rows, std::size_t index, Bindings& bound, Lock& lock) {
  const Row& row = rows[index];
  const Binding& binding = bound[index];
  if (!binding.object || is_lookup(row))
    return;
  Mapping& object = lock.touch(*binding.object);
  const bool first_use =
      binding.object_fresh && std::none_of(bound.begin(), bound.begin() + static_cast<std::ptrdiff_t>(index),
                                           [&](const Binding& other) { return other.object == binding.object; });
  const HostRange part = range_of(row);
  if (const HostRange enclosing = first_use ? object.host : part; is_enclosing(rows, index, enclosing)) {
    object.enclosing = object.enclosing || (first_use && is_tight(rows, enclosing));
    return;
  }
  if (!object.enclosing || part.size() == 0)
    return;
  std::vector<HostRange>& parts = object.make_details().parts;
  if (std::none_of(parts.begin(), parts.end(), [&](const HostRange& known) { return known.contains(part); }))
    parts.push_back(part);
}

// Finds, creates and counts what the rows name.
void DataEnvironment::bind(Rows rows, Held& held, Lock& lock) {
  Bindings& bound = held.bound;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].maps())
      bind_counted(rows, i, bound[i], &bound, lock);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].maps()) {
      bind_parts(rows[i], bound[i], &bound, lock);
      note_parts(rows, i, bound, lock);
    } else if (rows[i].has(kAttach)) {
      bind_attached(rows[i], bound[i], &bound, lock);
    }
    for (Mapping* mapping : {bound[i].object.get(), bound[i].cell.get()})
      held.all_there =
          held.all_there && (!mapping || (lock.touch(*mapping).state == Mapping::State::kReady && !mapping->unusable));
  }
}

void DataEnvironment::take_position(Rows rows, Held& held, Purpose purpose, Passage passage, CommandList& commands,
                                    const char* region, std::span<const HostRange> globals) {
  HostFallback::end();
  {
    Lock lock(*this);
    wait_until_none_leaves(rows, lock);
    bind(rows, held, lock);
    queue_behind(held, commands, lock);
    if (purpose == Purpose::kRegion && any_host_current()) [[unlikely]]
      note_stale(rows, globals, held, commands, lock);
    held.leaves_events = commands.leaves_events();
    if (held.leaves_events)
      leave_events(rows, held, purpose, commands, lock);
    if (passage == Passage::kThrough)
      release(rows, held, Release::kNormal, commands, region, lock);
  }
  held.over.clear();
  if (!held.all_there)
    provide(held);
  if (observe::heard()) [[unlikely]] {
    Lock lock(*this);
    report_rows(observe::RowsSeen::Kind::kMapped, memory_.number(), shares_host_memory(), rows, held.bound);
  }
  if (held.all_there || !held.leaves_events)
    return;
  publish(held); // what is there is said by its events
  wait_for_others(held);
}

std::string DataEnvironment::copy_in(Rows rows, Held& held, Purpose purpose, CommandList& commands) {
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

std::string DataEnvironment::begin(Rows rows) {
  Held held(rows.size());
  CommandList commands(memory_);
  take_position(rows, held, Purpose::kData, Passage::kIn, commands);
  std::string failure = copy_in(rows, held, Purpose::kData, commands);
  const std::string why = commands.wait();
  const std::string refused = refuse(rows, held, why);
  return_pointers(rows, held); // one object that the device does not take leaves the others' addresses as they are
  finish(held, commands, why);
  return failure.empty() ? refused : failure;
}

std::string DataEnvironment::finish_begin(Rows rows, Held& held, CommandList& commands, const std::string& why) {
  std::string refused = refuse(rows, held, why);
  finish(held, commands, why);
  return refused;
}

std::string DataEnvironment::lacks(Held& held) {
  return held.all_there ? std::string() : fault(held, {});
}

// Gives memory to what this call created; no lock is held, and nobody else looks at the objects. One that the
// device has no room for is for the host alone.
void DataEnvironment::provide(Held& held) {
  const auto provide_one = [&](Mapping& mapping) {
    {
      const auto guard = index_.guard(mapping); // others may leave their events with it
      if (mapping.device || mapping.unusable)
        return true;
    }
    std::byte* const device =
        memory_.allocate(static_cast<std::int64_t>(mapping.host.size()) + mapping.padding, mapping.host.address());
    if (!device) {
      break_object(mapping);
      return false;
    }
    const auto guard = index_.guard(mapping);
    mapping.device = device + mapping.padding;
    return true;
  };
  for (Binding& binding : held.bound) {
    binding.refused = binding.object_fresh && !provide_one(*binding.object);
    binding.cell_refused = binding.cell_fresh && !provide_one(*binding.cell);
  }
}

// The device did not take what the call created: it is for the host alone, unless it has left already.
void DataEnvironment::break_object(Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  if (mapping.state == Mapping::State::kGone)
    return;
  set_unusable(mapping);
  set_host_current(mapping, true);
}

// Fills what this call created.
void DataEnvironment::copy_in(const Row& row, Binding& binding, CommandList& commands) {
  bool filled = true;
  if (binding.object_fresh && row.has(kTo) && row.size > 0)
    filled = copy(Direction::kToDevice, *binding.object, common(range_of(row), binding.object->host), commands);
  const bool attached = !row.has(kPointer) || !binding.cell_fresh || attach(row, binding, commands);
  if (filled && attached && !row.has(kTo))
    return;
  if (binding.object_fresh)
    note_written(binding.object.get());
  if (!filled) {
    binding.refused = true;
    break_object(*binding.object);
  }
  if (!attached) {
    binding.cell_refused = true;
    break_object(*binding.cell);
  }
}

// Where a copy has failed after it was queued, nobody can tell which: what the call created is for the host alone.
// Returns which object the device has not, or "". What was there before has been changed in part, and the program
// ends, as in refresh().
std::string DataEnvironment::refuse(Rows rows, Held& held, const std::string& why) {
  if (why.empty())
    return {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Binding& binding = held.bound[i];
    const bool updates = rows[i].maps() && binding.object && rows[i].has(kTo | kAlways) && rows[i].size > 0;
    const bool attaches = binding.cell && rows[i].any(kPointer | kAttach);
    if ((updates && !binding.object_fresh) || (attaches && !binding.cell_fresh))
      die("%s", why.c_str());
    if (binding.object_fresh)
      break_object(*binding.object);
    if (binding.cell_fresh)
      break_object(*binding.cell);
  }
  return fault(held, " (" + why + ")");
}

// This call's objects are complete.
void DataEnvironment::publish(Held& held) {
  Lock lock(*this);
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
void DataEnvironment::wait_for_others(Held& held) {
  Lock lock(*this);
  for (Binding& binding : held.bound)
    for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
      while (mapping && lock.touch(*mapping).state == Mapping::State::kCreating)
        lock.wait_for(*mapping);
}

std::string DataEnvironment::not_there(const Mapping& mapping, const std::string& why) const {
  return (mapping.device ? "the device did not take a copy of " : "the device has no memory for ") + describe(mapping) +
         why;
}

// Which object of the call has no usable copy on the device, or "".
std::string DataEnvironment::fault(Held& held, const std::string& why) {
  Lock lock(*this);
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
bool DataEnvironment::refresh(Rows rows, Bindings& bound, Purpose purpose, CommandList& commands) {
  bool done = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    Binding& binding = bound[i];
    if (row.has(kAttach) && !attach_later(row, binding, commands)) {
      binding.cell_refused = true;
      done = false;
      const auto guard = index_.guard(*binding.cell);
      if (purpose == Purpose::kData)
        set_unusable(*binding.cell);
    }
    if (!row.maps())
      continue;
    if (binding.object && !binding.object_fresh && row.has(kTo | kAlways) && row.size > 0) {
      if (send(*binding.object, common(range_of(row), binding.object->host), commands)) {
        note_written(binding.object.get());
      } else {
        if (purpose == Purpose::kData)
          die("updating the device's copy of %s failed%s", describe(*binding.object).c_str(),
              commands.failure().c_str());
        binding.refused = true;
        done = false;
      }
    }
    if (row.has(kPointer) && !binding.cell_fresh && !attach(row, binding, commands)) {
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

// As the device's address of the base would be, if its object began at address 0.
static void* null_for(const Row& row) {
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(row.begin) - reinterpret_cast<std::uintptr_t>(row.base);
  return reinterpret_cast<void*>(std::uintptr_t{0} - offset);
}

// Whoever gets a device address may write there without another call.
void DataEnvironment::return_pointers(Rows rows, Held& held) {
  Bindings& bound = held.bound;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].has(kReturn) || !rows[i].maps())
      continue;
    const Mapping* const place = rows[i].has(kPointer) ? bound[i].cell.get() : bound[i].object.get();
    if (!place && rows[i].has(kNullIfAbsent) && !shares_host_memory())
      *rows[i].base_slot = null_for(rows[i]);
    if (!place || !is_usable(*place))
      continue;
    *rows[i].base_slot = argument(rows[i], bound[i]);
    note_written(bound[i].object.get());
    note_written(bound[i].cell.get());
  }
}

bool DataEnvironment::is_host_current(const Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  return mapping.host_current;
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

} // namespace omptool

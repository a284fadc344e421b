// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/binder.h"

#include "data/table/mapping_fault.h"
#include "data/table/row_ranges.h"
#include "process/message.h"

#include <algorithm>

namespace omptool {
namespace {

std::ptrdiff_t padding_of(HostRange enclosing) {
  return static_cast<std::ptrdiff_t>(enclosing.begin % kStructAlignment);
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

// Tells if the enclosing range's ends are those of its parts, as compilers make it. A row that reaches further is
// an allocation of its own: what lies beside the parts is the device's, too.
bool is_tight(Rows rows, HostRange enclosing) {
  HostRange parts{enclosing.end, enclosing.begin};
  for (const Row& part : rows)
    if (is_part(part) && enclosing.contains(place_of(part)))
      parts = enclosing_range(parts, place_of(part));
  return parts.begin == enclosing.begin && parts.end == enclosing.end;
}

// Tells if a row of the call maps something of its own in `larger`, beside what is in `reserved`.
bool any_other(Rows rows, HostRange larger, HostRange reserved) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row.maps() && row.has(kCounts) && !row.has(kPointer) && row.size > 0 && range_of(row).overlaps(larger) &&
           !reserved.contains(range_of(row));
  });
}

// Tells if an earlier row copies the row's bytes to the device.
bool is_repeated(Rows rows, std::size_t index, Bindings& bound) {
  for (std::size_t i = 0; i < index; ++i)
    if (bound[i].object == bound[index].object && rows[i].maps() && rows[i].has(kTo) &&
        range_of(rows[i]).contains(range_of(rows[index])))
      return true;
  return false;
}

} // namespace

// ---- exact matches ----

// Tells if the pointer may have to lead to a new object: it is mapped itself, now or by this call.
bool Binder::may_attach(const Row& pointer, Rows rows) const {
  if (!pointer.base || pointer.size <= 0)
    return true;
  const HostRange cell = HostRange::of(pointer.base, pointer.size);
  return table_.may_hold(cell) || std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
           return row.maps() && range_of(row).overlaps(cell);
         });
}

bool Binder::needs_no_lock(Rows rows, bool& may_create) const {
  for (const Row& row : rows) {
    if (row.has(kAttach) && !row.has(kAlways))
      may_create = may_create && !may_attach(row, rows);
    else if (!row.has(kValue) && !is_plain(row))
      return false;
  }
  return true;
}

// ---- waiting ----

// Returns the memory that a row may have to do with: its pointer's cell, and its object with the members it grows over.
// Either may be empty.
std::array<HostRange, 2> Binder::places_of(Rows rows, std::size_t index) {
  const Row& row = rows[index];
  if (!row.maps() && !row.has(kAttach))
    return {};
  const HostRange cell = row.any(kPointer | kAttach) && row.base ? cell_of(row) : HostRange{};
  if (row.size > 0 && row.maps()) {
    HostRange reserved = range_of(row);
    for (std::size_t i = index + 1; i < rows.size() && rows[i].has(kReserve); ++i)
      reserved = enclosing_range(reserved, range_of(rows[i]));
    return {cell, reserved};
  }
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(empty_section(row));
  return {cell, at ? HostRange{at - 1, at + 1} : HostRange{}}; // or it belongs to what ends there
}

Mapping* Binder::find_leaving(Rows rows, Lock& lock) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const HostRange place : places_of(rows, i))
      if (Mapping* const leaving = place.size() > 0 ? table_.find_leaving(place, lock) : nullptr)
        return leaving;
  return nullptr;
}

// A place is taken in one step: whoever waits in the midst of it would come after one construct by one object, and
// before it by another. So what has to be waited for is, before anything is counted.
void Binder::wait_until_none_leaves(Rows rows, Lock& lock) {
  while (Mapping* const leaving = find_leaving(rows, lock))
    lock.wait_for(*leaving);
}

// ---- all rows ----

// Returns the range that the row is to create: its own and, of the parts of its struct that lie beside it, those
// between which and it nothing else is mapped (decision 30).
HostRange Binder::reserved_range(Rows rows, std::size_t index, Lock& lock) {
  HostRange reserved = range_of(rows[index]);
  for (std::size_t i = index + 1; i < rows.size() && rows[i].has(kReserve); ++i) {
    const HostRange larger = enclosing_range(reserved, range_of(rows[i]));
    if (!any_other(rows, larger, reserved) && table_.look_up(larger, lock).overlap != Overlap::kPartial)
      reserved = larger;
  }
  return reserved;
}

// Tells if kernels find the host's pointee by the pointer of the row: they read it in the host's memory, or it is that
// by which they reach a variable.
bool Binder::leads_to_host(const Row& row, Lock& lock) {
  if (!sharing_.any() || !row.has(kPointer) || row.has(kCounts))
    return false;
  const Lookup cell = table_.look_up(cell_of(row), lock);
  return cell.overlap != Overlap::kWhole || cell.mapping->is_in_place() ||
         (cell.mapping->is_named() && cell.mapping->own_value);
}

void Binder::bind_counted(Rows rows, std::size_t index, Binding& binding, const void* call, Lock& lock) {
  const Row& row = rows[index];
  if ((!row.has(kPointer) && !row.has(kCounts)) || binding.object)
    return;
  if (row.has(kPointer))
    binding.pointer = pointer_value(row);
  const auto count = [&](Mapping& mapping) { ++(row.has(kHold) ? mapping.holds : mapping.references); };
  const HostRange reserved = reserved_range(rows, index, lock);
  if (reserved.size() == 0)
    binding.object.mapping = table_.pin(table_.look_up_empty(row, lock), lock);
  else
    binding.object.mapping =
        table_.pin(table_.obtain(leads_to_host(row, lock) ? without(row, kClose) : row, reserved, call, lock,
                                 is_enclosing(rows, index, reserved) ? padding_of(reserved) : 0),
                   lock);
  if (reserved.size() == 0 && !binding.object && row.has(kPresent) && sharing_.needs_copy(row))
    throw absence(HostRange::of(empty_section(row), 0));
  if (binding.object) {
    count(*binding.object);
    const void* const base = row.has(kPointer) ? binding.pointer : row.base;
    if (binding.object->creator == call && binding.object->host.begin == reserved.begin && base < reserved.address())
      binding.object->base = reinterpret_cast<std::uintptr_t>(base);
  }
  if (row.has(kPointer) && row.has(kCounts)) {
    // The pointee must be present, which says nothing about its pointer.
    binding.cell.mapping =
        table_.pin(table_.obtain(without(row, kPresent | kImplicit), cell_of(row), call, lock), lock);
    if (binding.cell)
      count(*binding.cell);
  }
}

// A part of a struct, or a pointer's cell, for which no row has room. LLVM's programs map it all the same
// (decision 30).
Mapping* Binder::obtain_part(const Row& row, HostRange wanted, const void* call, Lock& lock) {
  Mapping* part = table_.find_for(row, wanted, lock);
  if (!part && !sharing_.any() && row.has(kSection) && !is_lookup(row)) {
    part = table_.obtain(row, wanted, call, lock);
    lock.touch(*part).make_details().apart = true;
  }
  if (part && part->is_apart())
    ++(row.has(kHold) ? part->holds : part->references);
  if (!part && !sharing_.any() && !row.has(kImplicit))
    say("the runtime ignores the row of %p (%lld bytes): no row that counts maps the struct of which it is part",
        wanted.address(), static_cast<long long>(wanted.size()));
  return part;
}

void Binder::bind_part(const Row& row, Binding& binding, const void* call, Lock& lock) {
  Mapping*& place = (row.has(kPointer) ? binding.cell : binding.object).mapping;
  const HostRange wanted = place_of(row);
  if (wanted.size() > 0)
    place = table_.pin(obtain_part(row, wanted, call, lock), lock);
  else if (row.has(kSection))
    place = table_.pin(table_.look_up_empty(row, lock), lock);
}

// Keeps account of which parts of a struct the program maps: the holes of a enclosing range hold nothing.
void Binder::note_parts(Rows rows, std::size_t index, Bindings& bound, Lock& lock) {
  const Row& row = rows[index];
  const Binding& binding = bound[index];
  if (!binding.object || is_lookup(row))
    return;
  Mapping& object = lock.touch(*binding.object);
  const bool first_use =
      binding.object.fresh && std::none_of(bound.begin(), bound.begin() + static_cast<std::ptrdiff_t>(index),
                                           [&](const Binding& other) { return other.object == binding.object; });
  const HostRange part = range_of(row);
  if (const HostRange enclosing = first_use ? object.host : part; is_enclosing(rows, index, enclosing)) {
    if (first_use && is_tight(rows, enclosing)) // else it is its creator's, who reads it without the lock
      object.enclosing = true;
    return;
  }
  if (!object.enclosing || part.size() == 0)
    return;
  std::vector<HostRange>& parts = object.make_details().parts;
  if (std::none_of(parts.begin(), parts.end(), [&](const HostRange& known) { return known.contains(part); }))
    parts.push_back(part);
}

void Binder::bind(Rows rows, Held& held, Lock& lock) {
  wait_until_none_leaves(rows, lock);
  Bindings& bound = held.bound;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].maps())
      bind_counted(rows, i, bound[i], &bound, lock);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].has(kAttach))
      bind_attached(rows[i], bound[i], lock);
    else if (rows[i].maps() && !rows[i].has(kCounts))
      bind_part(rows[i], bound[i], &bound, lock);
    for (RowObject* const one : bound[i].both()) {
      if (!*one)
        continue;
      const Mapping& mapping = lock.touch(**one);
      one->fresh = one->fresh || mapping.creator == &bound;
      held.creates = held.creates || one->fresh;
      held.lacks = held.lacks || mapping.unusable;
      held.awaits = held.awaits || (mapping.state != Mapping::State::kReady && mapping.creator != &bound);
    }
    if (rows[i].maps()) {
      note_parts(rows, i, bound, lock);
      bound[i].repeated = bound[i].object.fresh && is_repeated(rows, i, bound);
    }
  }
}

// A pointer that is to be attached if either side of it is new: nothing is counted, and either may be
// absent.
void Binder::bind_attached(const Row& row, Binding& binding, Lock& lock) {
  if (!row.base || !row.begin || row.size < kPointerSize)
    return;
  binding.pointer = pointer_value(row);
  const Lookup cell = table_.look_up(HostRange::of(row.base, row.size), lock);
  binding.cell.mapping = cell.overlap == Overlap::kWhole ? table_.pin(cell.mapping, lock) : nullptr;
  binding.object.mapping = table_.pin(table_.look_up_empty(row, lock), lock);
}

// ---- what earlier calls have mapped ----

// Lets go of what has been found: others may have changed it.
void Binder::unbind(Held& held, Lock& lock) {
  for (Binding& binding : held.bound) {
    for (RowObject* const one : binding.both())
      if (*one)
        table_.unpin(**one, lock);
    binding = {};
  }
}

// Returns an object that another call is still filling: when that was done, others may have changed. Null: none is.
Mapping* Binder::bind_known(const Row& row, Binding& binding, bool updates, Lock& lock) {
  if (!row.maps() || (updates && row.size == 0))
    return nullptr;
  const HostRange wanted = row.size == 0 ? HostRange::of(empty_section(row), 0) : range_of(row);
  binding.object.mapping =
      table_.pin(row.size == 0 ? table_.look_up_empty(row, lock) : table_.find_known(row, wanted, lock), lock);
  // For an update nothing less will do, even if the device can use the host's memory.
  if (!binding.object && row.has(kPresent) && !(updates ? sharing_.is_only() : sharing_.any()))
    throw absence(wanted, updates ? "motion" : "map type");
  if (row.has(kPointer) && !updates) {
    const Lookup found = table_.look_up(cell_of(row), lock);
    if (found.overlap == Overlap::kWhole && (row.has(kCounts) || lock.touch(*found.mapping).is_apart()))
      binding.cell.mapping = table_.pin(found.mapping, lock);
  }
  for (RowObject* const one : binding.both())
    if (*one && lock.touch(**one).state == Mapping::State::kCreating)
      return *one;
  if (updates && binding.object) {
    binding.host_current = binding.object->host_current;
    binding.object->written = binding.object->written || row.has(kTo);
  }
  return nullptr;
}

void Binder::bind_known(Rows rows, Held& held, bool updates, Lock& lock) {
  for (bool again = true; again;) {
    again = false;
    unbind(held, lock);
    wait_until_none_leaves(rows, lock);
    for (std::size_t i = 0; i < rows.size() && !again; ++i)
      if (Mapping* const filled = bind_known(rows[i], held.bound[i], updates, lock)) {
        lock.wait_for(*filled);
        again = true;
      }
  }
}

} // namespace omptool

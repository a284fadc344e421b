// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/begin.h"

#include "data/table/row_ranges.h"
#include "process/message.h"

namespace omptool {

void Begin::make_room_in_order(Rows rows, Held& held) {
  provide(held);
  if (observe::heard())
    report(Seen::kMapped, rows, held);
  if (!held.leaves_events)
    return;
  publish(rows, held); // its events tell others when the bytes are there
  if (held.awaits)
    wait_for_others(held);
}

// Some rows have created their objects already, and others have to wait: a construct that takes its position meanwhile
// comes before this one, and uses these. They get their bytes now, also those that only other rows bring.
void Begin::fill_own(Rows rows, Held& held, CommandList& commands) {
  provide(held);
  for (Binding& own : held.bound) {
    if (!own.object.fresh)
      continue;
    own.filled = true;
    HostRange copied{0, 0};
    for (const Row& row : rows) {
      if (!row.maps() || !row.has(kTo) || row.size <= 0 || !own.object->host().contains(range_of(row)) ||
          copied.contains(range_of(row)))
        continue;
      copied = range_of(row);
      own.object->note_written();
      if (!transfers_.copy(Direction::kToDevice, *own.object, range_of(row), commands))
        break_own(own.object, held);
    }
  }
  publish(rows, held);
}

void Begin::place_in_order(Rows rows, Held& held, Purpose purpose, CommandList& commands,
                           std::span<const HostRange> globals) {
  const bool is_released = purpose == Purpose::kRegion && commands.is_later();
  HostFallback::end();
  if (held.creates)
    fill_own(rows, held, commands);
  {
    Lock lock(table_);
    binder_.bind(rows, held, lock);
    if (purpose == Purpose::kRegion && table_.any_host_current()) [[unlikely]]
      host_side_.note_stale(rows, globals, held, commands, lock);
    queue_behind(held, commands, lock);
    for (std::size_t i = 0; i < rows.size() && held.leaves_events; ++i) {
      const RowObject &object = held.bound[i].object, &cell = held.bound[i].cell;
      if (object)
        leave_event(*object, object.fresh || rows[i].has(kTo | kAlways), purpose == Purpose::kRegion, commands, lock);
      if (cell)
        leave_event(*cell, true, purpose == Purpose::kRegion, commands, lock);
    }
    // Afterwards: while the construct counts an object, nobody has it leave before these events are there.
    if (is_released)
      end_.release_in_order(rows, held, Release::kNormal, commands, lock);
  }
  if (is_released && observe::heard()) [[unlikely]]
    report(Seen::kReleased, rows, held);
}

std::string Begin::lacks(Held& held) {
  return held.lacks ? fault(held, {}) : std::string();
}

// The device did not take what the call owes to its own object, or has no room for it: it is for the host alone.
void Begin::break_own(RowObject& own, Held& held) {
  own.refused = held.lacks = true;
  own->break_off();
}

// Nobody can tell which copy has failed after it was queued: all that the call created is for the host alone. Returns
// the object that the device has not, or "". An object that was there before has been changed in part, and the program
// ends, as in refresh().
std::string Begin::refuse(Rows rows, Held& held, const std::string& why) {
  if (why.empty())
    return {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Binding& binding = held.bound[i];
    const bool updates = rows[i].maps() && binding.object && rows[i].has(kTo | kAlways) && rows[i].size > 0;
    const bool attaches = binding.cell && rows[i].any(kPointer | kAttach);
    if ((updates && !binding.object.fresh) || (attaches && !binding.cell.fresh))
      die("%s", why.c_str());
    for (RowObject* const one : binding.both())
      if (one->fresh)
        (*one)->break_off();
  }
  return fault(held, " (" + why + ")");
}

// Waits until what other calls create is there. No call does so with an unfinished object of its own.
void Begin::wait_for_others(Held& held) {
  Lock lock(table_);
  for (Binding& binding : held.bound)
    for (RowObject* const one : binding.both()) {
      while (*one && (*one)->state() == Object::State::kFilling)
        table_.wait_for(**one, lock);
      held.lacks = held.lacks || (*one && (*one)->is_unusable());
    }
}

// Returns the object of the call that has no usable copy on the device, or "".
std::string Begin::fault(Held& held, const std::string& why) {
  const std::string reason = why.empty() ? memory_.last_error() : why;
  const Object* missing = nullptr;
  for (Binding& binding : held.bound)
    for (RowObject* const one : binding.both())
      if (!missing && *one && ((*one)->is_unusable() || one->refused))
        missing = *one;
  for (const Object* const object : held.stale)
    if (!missing && object->is_unusable())
      missing = object;
  if (!missing)
    return {};
  return (missing->device() ? "the device did not take a copy of " : "the device has no memory for ") +
         describe(*missing) + reason;
}

// Copies and pointers that a call owes to objects which were there before it. When a region's copy
// fails, the region falls back and its object is repaired from the host; an enclosing construct has
// no host version, so its program ends.
void Begin::refresh(Rows rows, Held& held, Purpose purpose, CommandList& commands) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    Binding& binding = held.bound[i];
    if (row.maps() && binding.object && !binding.object.fresh && row.has(kTo | kAlways) && row.size > 0) {
      if (diverged_.copy(Direction::kToDevice, *binding.object, common(range_of(row), binding.object->host()),
                         commands)) {
        binding.object->note_written();
      } else {
        if (purpose == Purpose::kData)
          die("updating the device's copy of %s failed%s", describe(*binding.object).c_str(),
              commands.failure().c_str());
        binding.object.refused = held.lacks = true;
      }
    }
    const bool owes_pointer = row.maps() && row.has(kPointer) && !binding.cell.fresh;
    if ((row.has(kAttach) && !attach_later(row, binding, commands)) ||
        (owes_pointer && !transfers_.attach(row, binding, commands))) {
      binding.cell.refused = held.lacks = true;
      if (purpose == Purpose::kData)
        binding.cell->mark_unusable();
    }
  }
}

// Whoever gets a device address may write there without another call.
void Begin::return_pointers(Rows rows, Held& held) {
  Bindings& bound = held.bound;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].has(kReturn) || !rows[i].maps())
      continue;
    const Object* const place = rows[i].has(kPointer) ? bound[i].cell : bound[i].object;
    if (!place && rows[i].has(kNullIfAbsent) && !sharing_.any())
      *rows[i].base_slot = device_base(nullptr, rows[i].begin, rows[i].base);
    if (!place || !place->is_usable())
      continue;
    *rows[i].base_slot = argument(rows[i], bound[i]);
    for (RowObject* const one : bound[i].both())
      if (*one)
        (*one)->note_written();
  }
}

// For a kAttach row, once everything of the call is in place.
bool Begin::attach_later(const Row& row, Binding& binding, CommandList& commands) {
  const bool wanted = binding.object.fresh || binding.cell.fresh || row.has(kAlways);
  if (!binding.object || !binding.cell || !wanted)
    return true;
  // The rest follows the address in the descriptors of Fortran.
  const HostRange rest{cell_of(row).end, cell_of(row).begin + static_cast<std::uintptr_t>(row.size)};
  if (!transfers_.attach(row, binding, commands) ||
      (rest.size() > 0 && !diverged_.copy(Direction::kToDevice, *binding.cell, rest, commands)))
    return false;
  if (rest.size() > 0)
    binding.cell->note_written();
  return true;
}

void* Begin::pointee(const Row& row, const Binding& binding) const {
  if (!binding.object || !binding.object->device())
    return nullptr;
  return device_base(binding.object->at(reinterpret_cast<std::uintptr_t>(row.begin)), row.begin, binding.pointer);
}

} // namespace omptool

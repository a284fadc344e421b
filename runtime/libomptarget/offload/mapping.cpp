// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/mapping.h"

#include "data/order.h"
#include "process/message.h"

namespace omptool {
// ---- place ----

void MappingConstruct::place_in_order() {
  const bool is_region = region_ != nullptr;
  const bool is_released = is_region && commands_.is_later();
  const std::vector<HostRange> globals =
      is_region && data().table.any_host_current() ? this->globals() : std::vector<HostRange>();
  HostFallback::end();
  if (mapped_.creates)
    fill_early();
  {
    Lock lock(data().table);
    data().binder.bind(rows_, mapped_, lock);
    if (is_region && data().table.any_host_current()) [[unlikely]]
      data().fallback.note_stale(rows_, globals, mapped_, commands_, lock);
    come_after_others(mapped_, commands_, data().table, lock);
    for (std::size_t i = 0; i < rows_.size() && mapped_.leaves_events; ++i) {
      const ArgumentObject &object = mapped_.arguments[i].object, &cell = mapped_.arguments[i].cell;
      if (object)
        leave_events(*object, object.fresh || rows_[i].has(kTo | kAlways), is_region, commands_, lock);
      if (cell)
        leave_events(*cell, true, is_region, commands_, lock);
    }
    // Afterwards: while the construct counts an object, nobody has it leave before these events are there.
    if (is_released)
      release_in_order(rows_.size(), lock);
  }
  if (is_released && observe::heard()) [[unlikely]]
    report(Seen::kReleased);
}

void MappingConstruct::make_room_in_order() {
  make_room();
  if (observe::heard())
    report(Seen::kMapped);
  if (!mapped_.leaves_events)
    return;
  publish(); // its events tell others when the bytes are there
  if (mapped_.awaits)
    wait_for_others();
}

// Some rows have created their objects already, and others have to wait: a construct that takes its position meanwhile
// comes before this one, and uses these. They get their bytes now, also those that only other rows bring.
void MappingConstruct::fill_early() {
  make_room();
  for (Argument& own : mapped_.arguments) {
    if (!own.object.fresh)
      continue;
    own.filled = true;
    HostRange copied{0, 0};
    for (const Row& row : rows_) {
      if (!row.maps() || !row.has(kTo) || row.size <= 0 || !own.object->host().contains(range_of(row)) ||
          copied.contains(range_of(row)))
        continue;
      copied = range_of(row);
      own.object->note_written();
      if (!data().transfers.copy(Direction::kToDevice, *own.object, range_of(row), commands_))
        break_own(own.object);
    }
  }
  publish();
}

// The device did not take what the construct owes to its own object, or has no room for it: it is for the host alone.
void MappingConstruct::break_own(ArgumentObject& own) {
  own.refused = mapped_.lacks = true;
  own->break_off();
}

// ---- fill ----

// Waits until what other constructs create is there. None does so with an unfinished object of its own.
void MappingConstruct::wait_for_others() {
  Lock lock(data().table);
  for (Argument& argument : mapped_.arguments)
    for (ArgumentObject* const one : argument.both()) {
      while (*one && (*one)->state() == Object::State::kFilling)
        lock.wait_for(**one);
      mapped_.lacks = mapped_.lacks || (*one && (*one)->is_unusable());
    }
}

// Copies and attaches what a construct owes to objects that were there before it. When a region's copy fails, the
// region falls back and its object is repaired from the host; another construct has no host version, so its program
// ends.
void MappingConstruct::refresh() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    Argument& argument = mapped_.arguments[i];
    if (row.maps() && argument.object && !argument.object.fresh && row.has(kTo | kAlways) && row.size > 0) {
      if (data().fallback.copy(Direction::kToDevice, *argument.object, common(range_of(row), argument.object->host()),
                               commands_)) {
        argument.object->note_written();
      } else {
        if (!region_)
          die("updating the device's copy of %s failed%s", describe(*argument.object).c_str(),
              commands_.failure().c_str());
        argument.object.refused = mapped_.lacks = true;
      }
    }
    const bool owes_pointer = row.maps() && row.has(kPointer) && !argument.cell.fresh;
    if ((row.has(kAttach) && !attach_later(row, argument)) ||
        (owes_pointer && !data().transfers.attach(row, argument, commands_))) {
      argument.cell.refused = mapped_.lacks = true;
      if (!region_)
        argument.cell->mark_unusable();
    }
  }
}

// Attaches the pointer of a kAttach row, once everything of the construct is in place.
bool MappingConstruct::attach_later(const Row& row, Argument& argument) {
  const bool wanted = argument.object.fresh || argument.cell.fresh || row.has(kAlways);
  if (!argument.object || !argument.cell || !wanted)
    return true;
  // The rest follows the address in the descriptors of Fortran.
  const HostRange rest{cell_of(row).end, cell_of(row).begin + static_cast<std::uintptr_t>(row.size)};
  if (!data().transfers.attach(row, argument, commands_) ||
      (rest.size() > 0 && !data().fallback.copy(Direction::kToDevice, *argument.cell, rest, commands_)))
    return false;
  if (rest.size() > 0)
    argument.cell->note_written();
  return true;
}

// Whoever gets a device address may write there without another call.
void MappingConstruct::return_pointers() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    Argument& argument = mapped_.arguments[i];
    if (!row.has(kReturn) || !row.maps())
      continue;
    const Object* const place = row.has(kPointer) ? argument.cell : argument.object;
    if (!place && row.has(kNullIfAbsent) && !data().sharing.any())
      *row.base_slot = device_base(nullptr, row.begin, row.base);
    if (!place || !place->is_usable())
      continue;
    *row.base_slot = kernel_argument(row, argument);
    for (ArgumentObject* const one : argument.both())
      if (*one)
        (*one)->note_written();
  }
}

// ---- failures ----

// Nobody can tell which copy has failed after it was queued: all that the construct created is for the host alone. An
// object that was there before has been changed in part, and the program ends, as in refresh().
std::string MappingConstruct::refuse(const std::string& failure) {
  if (failure.empty())
    return {};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Argument& argument = mapped_.arguments[i];
    const bool updates = rows_[i].maps() && argument.object && rows_[i].has(kTo | kAlways) && rows_[i].size > 0;
    const bool attaches = argument.cell && rows_[i].any(kPointer | kAttach);
    if ((updates && !argument.object.fresh) || (attaches && !argument.cell.fresh))
      die("%s", failure.c_str());
    for (ArgumentObject* const one : argument.both())
      if (one->fresh)
        (*one)->break_off();
  }
  return missing_object(" (" + failure + ")");
}

std::string MappingConstruct::missing_object(const std::string& why) {
  const std::string reason = why.empty() ? device_.memory.last_error() : why;
  const Object* missing = nullptr;
  for (Argument& argument : mapped_.arguments)
    for (ArgumentObject* const one : argument.both())
      if (!missing && *one && ((*one)->is_unusable() || one->refused))
        missing = *one;
  for (const Object* const object : mapped_.stale)
    if (!missing && object->is_unusable())
      missing = object;
  if (!missing)
    return {};
  return (missing->device() ? "the device did not take a copy of " : "the device has no memory for ") +
         describe(*missing) + reason;
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointers inside mapped objects, whose device copies lead to device memory.
#include "data/environment.h"

#include "data/report.h"
#include "data/row_ranges.h"
#include "observe/sink.h"

#include <algorithm>

namespace omptool {

// A pointer that is to be attached if either side of it is new: nothing is counted, and either may be
// absent.
void DataEnvironment::bind_attached(const Row& row, Binding& binding, const void* call, Lock& lock) {
  if (!row.base || !row.begin || row.size < kPointerSize)
    return;
  binding.pointer = pointer_value(row);
  const Lookup cell = look_up(HostRange::of(row.base, row.size), lock);
  binding.cell = cell.overlap == Overlap::kWhole ? cell.mapping : nullptr;
  binding.object = look_up_empty(row, lock);
  const auto fresh = [&](const MappingPtr& mapping) { return mapping && lock.touch(*mapping).creator == call; };
  binding.object_fresh = fresh(binding.object);
  binding.cell_fresh = fresh(binding.cell);
}

// Initialises the device's copy of a pointer with the base device address of its pointee. A pointer
// to nothing that is present becomes null, unless it already points somewhere on the device.
bool DataEnvironment::attach(const Row& row, Binding& binding, CommandList& commands) {
  if (!binding.cell)
    return true;
  void* const host_value = binding.pointer;
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
    std::vector<AttachedPointer>& pointers = binding.cell->make_details().pointers;
    const auto at =
        std::lower_bound(pointers.begin(), pointers.end(), cell,
                         [](const AttachedPointer& known, std::uintptr_t sought) { return known.cell < sought; });
    const bool known = at != pointers.end() && at->cell == cell;
    if (known && at->arrived && (at->device_value == value || !value)) {
      if (value) // another object may have got the memory of the one before
        at->pointee = reinterpret_cast<std::uintptr_t>(host_value);
      return possible || !binding.cell->device;
    }
    const AttachedPointer now{cell, value, reinterpret_cast<std::uintptr_t>(host_value), possible};
    if (known)
      *at = now;
    else
      pointers.insert(at, now);
  }
  if (!possible)
    return !binding.cell->device;
  if (observe::heard()) [[unlikely]]
    report_copy(memory_.number(), true, *binding.cell, &value, binding.cell->at(cell), sizeof value, row.base);
  if (commands.submit(binding.cell->at(cell), commands.keep(&value, sizeof value), kPointerSize))
    return true;
  const auto guard = index_.guard(*binding.cell);
  for (AttachedPointer& pointer : binding.cell->make_details().pointers)
    pointer.arrived = pointer.arrived && pointer.cell != cell;
  return false;
}

// For a kAttach row, once everything of the call is in place.
bool DataEnvironment::attach_later(const Row& row, Binding& binding, CommandList& commands) {
  const bool wanted = binding.object_fresh || binding.cell_fresh || row.has(kAlways);
  if (!binding.object || !binding.cell || !wanted)
    return true;
  // What follows the address, in the descriptors of Fortran.
  const HostRange rest{cell_of(row).end, cell_of(row).begin + static_cast<std::uintptr_t>(row.size)};
  if (!attach(row, binding, commands) || (rest.size() > 0 && !send(*binding.cell, rest, commands)))
    return false;
  if (rest.size() > 0)
    note_written(binding.cell.get());
  return true;
}

void* DataEnvironment::pointee(const Row& row, const Binding& binding) const {
  if (!binding.object || !binding.object->device)
    return nullptr;
  return device_base(binding.object->at(reinterpret_cast<std::uintptr_t>(row.begin)), row.begin, binding.pointer);
}

} // namespace omptool

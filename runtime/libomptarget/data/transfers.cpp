// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/transfers.h"

#include "data/table/row_ranges.h"
#include "observe/events/sink.h"

#include <algorithm>

namespace omptool {
namespace {

// To be called where somebody hears what begins. `cell`: of a pointer that is attached, where it is on the host.
void report_copy(int device, bool to_device, const Mapping& mapping, const void* host, const void* there,
                 std::int64_t size, const void* cell = nullptr) {
  observe::report(observe::ObjectCopied{observe::Within::current(), device, to_device, host, there, size, mapping.host,
                                        mapping.name(), cell});
}

} // namespace

bool Transfers::copy_pieces(Direction direction, const Mapping& mapping, HostRange range, CommandList& commands,
                            std::span<const HostRange> except) {
  if (observe::hears_begins())
    report_copy(memory_.number(), direction == Direction::kToDevice, mapping, range.address(), mapping.at(range.begin),
                range.size());
  if (except.empty() && !has_pointers(mapping))
    return move(direction, mapping, range, commands);
  const std::vector<HostRange> pieces = without_pointers(mapping, range, except);
  return std::all_of(pieces.begin(), pieces.end(),
                     [&](HostRange piece) { return move(direction, mapping, piece, commands); });
}

// Most objects have none: asking first takes no memory.
bool Transfers::has_pointers(const Mapping& mapping) {
  const auto guard = table_.guard(mapping);
  return !mapping.pointers().empty();
}

std::vector<HostRange> Transfers::without_pointers(const Mapping& mapping, HostRange range,
                                                   std::span<const HostRange> except) {
  std::vector<HostRange> holes(except.begin(), except.end());
  {
    const auto guard = table_.guard(mapping);
    for (const auto& [cell, pointer] : mapping.pointers())
      holes.push_back({cell, cell + sizeof(void*)});
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
  if (at < range.end)
    pieces.push_back({at, range.end});
  return pieces;
}

std::vector<HostRange> Transfers::parts_of(const Mapping& mapping) {
  const auto guard = table_.guard(mapping);
  if (!mapping.enclosing)
    return {mapping.host};
  return mapping.details() ? mapping.details()->parts : std::vector<HostRange>();
}

bool Transfers::copy_whole(Direction direction, const Mapping& mapping, std::span<const HostRange> except) {
  const std::vector<HostRange> parts = parts_of(mapping);
  CommandList commands(memory_);
  const bool queued = std::all_of(parts.begin(), parts.end(), [&](const HostRange& part) {
    return copy(direction, mapping, part, commands, except);
  });
  return commands.wait().empty() && queued;
}

bool Transfers::attach(const Row& row, Binding& binding, CommandList& commands) {
  if (!binding.cell || binding.cell->is_in_place()) // which the host reads, too
    return true;
  void* const host_value = binding.pointer;
  void* value = nullptr;
  const Mapping* const object = binding.object;
  if (object && object->device) {
    const void* begin = row.size || row.has(kSection) ? row.begin : host_value;
    value = device_base(object->at(reinterpret_cast<std::uintptr_t>(begin)), begin, host_value);
  } else if (!object && sharing_.any()) {
    value = host_value;
  }
  const std::uintptr_t cell = cell_of(row).begin;
  // Of a side without device memory it is noted, too, where the pointer leads: a region that falls back
  // needs both.
  const bool possible = binding.cell->device && (!object || object->device);
  {
    const auto guard = table_.guard(*binding.cell);
    AttachedPointer& known = binding.cell->make_details().pointers[cell];
    if (known.arrived && (known.device_value == value || !value)) {
      if (value) // another object may have got the memory of the one before
        known.pointee = reinterpret_cast<std::uintptr_t>(host_value);
      return possible || !binding.cell->device;
    }
    known = {value, reinterpret_cast<std::uintptr_t>(host_value), possible};
  }
  if (!possible)
    return !binding.cell->device;
  if (observe::heard()) [[unlikely]]
    report_copy(memory_.number(), true, *binding.cell, &value, binding.cell->at(cell), sizeof value, row.base);
  const observe::Shown shown(row.base);
  if (commands.submit(binding.cell->at(cell), commands.keep(&value, sizeof value), kPointerSize))
    return true;
  const auto guard = table_.guard(*binding.cell);
  binding.cell->make_details().pointers[cell].arrived = false;
  return false;
}

} // namespace omptool

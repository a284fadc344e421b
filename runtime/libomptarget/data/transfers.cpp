// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/transfers.h"

#include "data/table/row_ranges.h"
#include "observe/events/sink.h"

#include <algorithm>

namespace omptool {
namespace {

// To be called where somebody hears what begins. `cell`: of a pointer that is attached, where it is on the host.
void report_copy(int device, bool to_device, const Object& object, const void* host, const void* there,
                 std::int64_t size, const void* cell = nullptr) {
  observe::report(observe::ObjectCopied{observe::Within::current(), device, to_device, host, there, size, object.host(),
                                        object.name(), cell});
}

} // namespace

bool Transfers::copy_pieces(Direction direction, const Object& object, HostRange range, CommandList& commands,
                            std::span<const HostRange> except) {
  if (observe::hears_begins())
    report_copy(memory_.number(), direction == Direction::kToDevice, object, range.address(), object.at(range.begin),
                range.size());
  const std::vector<HostRange> pieces = without_pointers(object, range, except);
  return std::all_of(pieces.begin(), pieces.end(),
                     [&](HostRange piece) { return move(direction, object, piece, commands); });
}

std::vector<HostRange> Transfers::without_pointers(const Object& object, HostRange range,
                                                   std::span<const HostRange> except) {
  std::vector<HostRange> holes = object.pointers(range);
  if (!except.empty()) {
    holes.insert(holes.end(), except.begin(), except.end());
    std::sort(holes.begin(), holes.end(), [](HostRange a, HostRange b) { return a.begin < b.begin; });
  }
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

bool Transfers::copy_whole(Direction direction, const Object& object, std::span<const HostRange> except) {
  const std::vector<HostRange> parts = object.parts();
  CommandList commands(memory_);
  const bool queued = std::all_of(parts.begin(), parts.end(), [&](const HostRange& part) {
    return copy(direction, object, part, commands, except);
  });
  return commands.wait().empty() && queued;
}

bool Transfers::attach(const Row& row, Argument& argument, CommandList& commands) {
  if (!argument.cell || argument.cell->is_in_place()) // which the host reads, too
    return true;
  void* const host_value = argument.pointer;
  void* value = nullptr;
  const Object* const object = argument.object;
  if (object && object->device()) {
    const void* begin = row.size || row.has(kSection) ? row.begin : host_value;
    value = device_base(object->at(reinterpret_cast<std::uintptr_t>(begin)), begin, host_value);
  } else if (!object && sharing_.any()) {
    value = host_value;
  }
  const std::uintptr_t cell = cell_of(row).begin;
  // Of a side without device memory it is noted, too, where the pointer leads: a region that falls back
  // needs both.
  const bool possible = argument.cell->device() && (!object || object->device());
  if (argument.cell->attach(cell, value, reinterpret_cast<std::uintptr_t>(host_value), possible) ==
      Object::Attached::kKnown)
    return possible || !argument.cell->device();
  if (!possible)
    return !argument.cell->device();
  if (observe::heard()) [[unlikely]]
    report_copy(memory_.number(), true, *argument.cell, &value, argument.cell->at(cell), sizeof value, row.base);
  const observe::Shown shown(row.base);
  if (commands.submit(argument.cell->at(cell), commands.keep(&value, sizeof value), kPointerSize))
    return true;
  argument.cell->detach(cell);
  return false;
}

} // namespace omptool

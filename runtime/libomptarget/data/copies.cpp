// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What moves between the two sides of an object, and `target update`.
#include "data/environment.h"

#include "data/mapping_fault.h"
#include "data/report.h"
#include "data/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"
#include "process/read_only.h"

#include <algorithm>
#include <utility>

namespace omptool {
namespace {

// The range without the holes.
std::vector<HostRange> pieces_of(HostRange range, std::vector<HostRange> holes) {
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

void add_pointers(const Mapping& mapping, std::vector<HostRange>& holes) {
  for (const AttachedPointer& pointer : mapping.pointers())
    holes.push_back({pointer.cell, pointer.cell + sizeof(void*)});
}

} // namespace

// Queues copies of a range of a mapping, except for pointers that have been attached and what `except` names.
bool DataEnvironment::copy(Direction direction, const Mapping& mapping, HostRange range, CommandList& commands,
                           std::span<const HostRange> except) {
  if (!mapping.device || mapping.own_value)
    return true;
  if (direction == Direction::kToHost && read_only_memory.hold(range.begin))
    return true;
  if (observe::heard()) [[unlikely]]
    report_copy(memory_.number(), direction == Direction::kToDevice, mapping, range.address(), mapping.at(range.begin),
                range.size());
  const auto move = [&](HostRange piece) {
    std::byte* const device = mapping.at(piece.begin);
    return direction == Direction::kToDevice ? commands.submit(device, piece.address(), piece.size())
                                             : commands.retrieve(piece.address(), device, piece.size());
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
    add_pointers(mapping, holes);
  }
  return pieces_of(range, std::move(holes));
}

std::vector<HostRange> DataEnvironment::parts_of(const Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  if (!mapping.enclosing)
    return {mapping.host};
  return mapping.details() ? mapping.details()->parts : std::vector<HostRange>();
}

bool DataEnvironment::copy_whole(Direction direction, const Mapping& mapping, std::span<const HostRange> except) {
  const std::vector<HostRange> parts = parts_of(mapping);
  CommandList commands(memory_);
  const bool queued = std::all_of(parts.begin(), parts.end(), [&](const HostRange& part) {
    return copy(direction, mapping, part, commands, except);
  });
  return commands.wait().empty() && queued;
}

bool DataEnvironment::copy_now(Direction direction, const Mapping& mapping, HostRange range) {
  CommandList commands(memory_);
  const bool queued = copy(direction, mapping, range, commands);
  return commands.wait().empty() && queued;
}

void DataEnvironment::take_position_of_update(Rows rows, Held& held, CommandList& commands) {
  HostFallback::end();
  {
    Lock lock(*this);
    wait_until_none_leaves(rows, lock);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!bind_updated(rows[i], held.bound[i], lock)) { // it has waited
        wait_until_none_leaves(rows, lock);
        i = static_cast<std::size_t>(-1);
      }
    queue_behind(held, commands, lock);
    held.leaves_events = commands.leaves_events();
    for (std::size_t i = 0; i < rows.size() && held.leaves_events; ++i)
      if (held.bound[i].object)
        leave_event(*held.bound[i].object, rows[i].has(kTo), rows[i].has(kFrom), held, commands, lock);
    if (observe::heard()) [[unlikely]]
      report_rows(observe::RowsSeen::Kind::kUpdated, memory_.number(), shares_host_memory(), rows, held.bound);
  }
  held.over.clear();
}

// False: another call is still filling the object; when it was done, others may have changed.
bool DataEnvironment::bind_updated(const Row& row, Binding& binding, Lock& lock) {
  if (!row.maps() || row.size == 0)
    return true;
  const MappingPtr found = find_known(row, range_of(row), lock);
  // Nothing less will do, even if the device can use the host's memory.
  if (!found && row.has(kPresent) && sharing() != Sharing::kOnly)
    throw absence(range_of(row), "motion");
  binding.object = found;
  if (!found)
    return true;
  if (lock.touch(*found).state == Mapping::State::kCreating) {
    lock.wait_for(*found);
    return false;
  }
  binding.host_current = found->host_current;
  found->written = found->written || row.has(kTo);
  return true;
}

void DataEnvironment::queue_update(Rows rows, Held& held, CommandList& commands) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Binding& binding = held.bound[i];
    // What only the host has is not brought up to date.
    if (!binding.object || (binding.host_current && !is_usable(*binding.object)))
      continue;
    const HostRange there = common(range_of(rows[i]), binding.object->host);
    if (rows[i].has(kTo) && !send(*binding.object, there, commands))
      die("updating the device's copy of %s failed%s", describe(*binding.object).c_str(), commands.failure().c_str());
    if (rows[i].has(kFrom) && !fetch(*binding.object, there, commands))
      die("updating %s from the device failed%s", describe(*binding.object).c_str(), commands.failure().c_str());
  }
  commands.set_handed_over();
}

void DataEnvironment::update(Rows rows) {
  Held held(rows.size());
  CommandList commands(memory_);
  take_position_of_update(rows, held, commands);
  queue_update(rows, held, commands);
  if (const std::string why = commands.wait(); !why.empty())
    die("%s", why.c_str());
  finish(held, commands);
}

} // namespace omptool

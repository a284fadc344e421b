// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What moves between the two sides of an object, and `target update`.
#include "data/environment.h"

#include "data/announce.h"
#include "data/mapping_fault.h"
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

// Copies a range of a mapping, except for pointers that have been attached and what `except` names.
bool DataEnvironment::copy(Direction direction, const Mapping& mapping, HostRange range,
                           std::span<const HostRange> except) {
  if (!mapping.device || mapping.own_value)
    return true;
  if (direction == Direction::kToHost && read_only_memory.hold(range.begin))
    return true;
  if (observe::heard()) [[unlikely]]
    announce_copy(memory_.number(), direction == Direction::kToDevice, mapping, range.address(),
                  mapping.at(range.begin), range.size());
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
    add_pointers(mapping, holes);
  }
  return pieces_of(range, std::move(holes));
}

std::vector<HostRange> DataEnvironment::parts_of(const Mapping& mapping) {
  const auto guard = index_.guard(mapping);
  if (!mapping.hull)
    return {mapping.host};
  return mapping.details() ? mapping.details()->parts : std::vector<HostRange>();
}

bool DataEnvironment::copy_whole(Direction direction, const Mapping& mapping, std::span<const HostRange> except) {
  const std::vector<HostRange> parts = parts_of(mapping);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const HostRange& part) { return copy(direction, mapping, part, except); });
}

bool DataEnvironment::copy_in_child(const Mapping& mapping, HostRange range) {
  if (!mapping.device || mapping.own_value)
    return true;
  std::vector<HostRange> holes;
  add_pointers(mapping, holes);
  const std::vector<HostRange> pieces = pieces_of(range, std::move(holes));
  return std::all_of(pieces.begin(), pieces.end(), [&](HostRange piece) {
    return memory_.retrieve(piece.address(), mapping.at(piece.begin), piece.size());
  });
}

void DataEnvironment::update(Rows rows) {
  HostTurn::end();
  Bindings bound(rows.size());
  {
    Lock lock(*this);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].maps() || rows[i].size == 0)
        continue;
      const MappingPtr found = find_known(rows[i], range_of(rows[i]), lock);
      // Nothing less will do, even if the device can use the host's memory.
      if (!found && rows[i].has(kPresent) && sharing() != Sharing::kOnly)
        throw absence(range_of(rows[i]), "motion");
      bound[i].object = found;
      if (!found)
        continue;
      while (lock.touch(*found).state == Mapping::State::kCreating)
        lock.wait_for(*found);
      bound[i].host_current = found->host_current;
      found->written = found->written || rows[i].has(kTo);
    }
    if (observe::heard()) [[unlikely]]
      announce_rows(observe::RowsSeen::Kind::kUpdated, memory_.number(), shares_host_memory(), rows, bound);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // What only the host has is not brought up to date.
    if (!bound[i].object || (bound[i].host_current && !is_usable(*bound[i].object)))
      continue;
    const HostRange there = common(range_of(rows[i]), bound[i].object->host);
    if (rows[i].has(kTo) && !send(*bound[i].object, there))
      die("updating the device's copy of %s failed%s", describe(*bound[i].object).c_str(),
          memory_.last_error().c_str());
    if (rows[i].has(kFrom) && !fetch(*bound[i].object, there))
      die("updating %s from the device failed%s", describe(*bound[i].object).c_str(), memory_.last_error().c_str());
  }
}

} // namespace omptool

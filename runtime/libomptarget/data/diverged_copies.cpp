// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/diverged_copies.h"

#include "data/table/row_ranges.h"

#include <algorithm>
#include <cstring>

namespace omptool {

// Returns whether the device has nothing that the host lacks, and whether it may from now on. A launch that is not seen
// here sees the object as the host's (data/table/activity.h), and waits for the turn that the caller has.
bool DivergedCopies::is_current_on_host(Mapping& mapping, bool& can_diverge) {
  const auto guard = table_.guard(mapping);
  can_diverge = mapping.device && !mapping.own_value && !mapping.unusable;
  if (mapping.host_current)
    return true;
  table_.set_host_current(mapping, true);
  return !mapping.written && activity_.none_since(mapping.born); // memory that nobody has written to (decision 33)
}

// Takes the host's bytes in these ranges for the newer ones. False: the device did not take part.
bool DivergedCopies::let_host_win(Mapping& mapping, std::span<const HostRange> ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [&](HostRange range) {
    const std::vector<HostRange> pieces = shared_pieces(mapping, range);
    return std::all_of(pieces.begin(), pieces.end(), [&](HostRange piece) {
      std::byte* const before = mapping.diverged->before.data() + (piece.begin - mapping.host.begin);
      return memory_.retrieve(before, mapping.at(piece.begin), piece.size());
    });
  });
}

// Returns the pieces of the range that hold the same on both sides when nothing is amiss.
std::vector<HostRange> DivergedCopies::shared_pieces(const Mapping& mapping, HostRange within) {
  std::vector<HostRange> all;
  for (const HostRange part : transfers_.parts_of(mapping))
    for (const HostRange piece : transfers_.without_pointers(mapping, common(part, within), {}))
      if (piece.size() > 0)
        all.push_back(piece);
  return all;
}

bool DivergedCopies::give_to_host(Mapping& mapping, std::span<const HostRange> newer, const HostFallback& fallback) {
  if (mapping.diverged && !mapping.diverged->before.empty()) {
    if (!let_host_win(mapping, newer) || !merge_copies(mapping, mapping.host, Toward::kHost))
      return false;
  } else if (!mapping.diverged) {
    bool can_diverge = false;
    const bool current = is_current_on_host(mapping, can_diverge);
    if (!current && !transfers_.copy_whole(Direction::kToHost, mapping, newer))
      return false;
    if (can_diverge)
      mapping.diverged = std::make_unique<Diverged>();
    if (can_diverge && !current) { // both sides have the same now, but for what is newer
      const auto* const here = static_cast<const std::byte*>(mapping.host.address());
      mapping.diverged->before.assign(here, here + mapping.host.size());
      if (!let_host_win(mapping, newer))
        return false;
    }
  }
  if (mapping.diverged) {
    std::erase_if(mapping.diverged->running, [](const HostFallback& one) { return one.is_over(); });
    mapping.diverged->running.push_back(fallback);
  }
  const auto guard = table_.guard(mapping);
  table_.set_host_current(mapping, true);
  return true;
}

bool DivergedCopies::give_to_device(Mapping& mapping) {
  Diverged* const diverged = mapping.diverged.get();
  if (diverged) // asked before the copy: what has been written by then is copied
    std::erase_if(diverged->running, [](const HostFallback& fallback) { return fallback.is_over(); });
  const bool given = !diverged                  ? transfers_.copy_whole(Direction::kToDevice, mapping, {})
                     : diverged->before.empty() ? fill_all(mapping)
                                                : merge_copies(mapping, mapping.host, Toward::kBoth);
  if (!given)
    return false;
  const auto guard = table_.guard(mapping);
  mapping.written = true;
  if (!diverged || diverged->running.empty()) {
    mapping.diverged.reset();
    table_.set_host_current(mapping, false);
  }
  return true;
}

// The device, which holds nothing yet, gets it all.
bool DivergedCopies::fill_all(Mapping& mapping) {
  const auto* const here = static_cast<const std::byte*>(mapping.host.address());
  std::vector<std::byte> now(here, here + mapping.host.size()); // a host version may be changing it
  for (const HostRange piece : shared_pieces(mapping, mapping.host))
    if (!memory_.submit(mapping.at(piece.begin), now.data() + (piece.begin - mapping.host.begin), piece.size()))
      return false;
  mapping.diverged->before = std::move(now);
  return true;
}

// The same where the host may have the newer side.
bool DivergedCopies::copy_diverged(Direction direction, Mapping& mapping, HostRange range, CommandList& commands) {
  if (table_.is_host_current(mapping)) {
    if (!commands.wait().empty()) // what follows is done at once
      return false;
    const observe::Postponed postponed;
    const std::lock_guard moving(moving_);
    const bool to_host = direction == Direction::kToHost;
    if (mapping.diverged && !mapping.diverged->before.empty())
      return to_host ? merge_copies(mapping, range, Toward::kHost)
                     : let_host_win(mapping, {&range, 1}) && merge_copies(mapping, range, Toward::kBoth);
    if (to_host && (mapping.diverged || table_.is_host_current(mapping)))
      return true;
  }
  return transfers_.copy(direction, mapping, range, commands);
}

// Each side, or the host alone, gets what the other has changed. False: the device did not take part.
bool DivergedCopies::merge_copies(Mapping& mapping, HostRange within, Toward toward) {
  constexpr std::uintptr_t kAtOnce = 1U << 16;
  std::vector<std::byte> room(2 * std::min<std::size_t>(kAtOnce, static_cast<std::size_t>(mapping.host.size())));
  for (const HostRange piece : shared_pieces(mapping, within))
    for (std::uintptr_t at = piece.begin; at < piece.end; at += kAtOnce)
      if (!merge(mapping, {at, std::min(at + kAtOnce, piece.end)}, toward, room))
        return false;
  return true;
}

// The same of as many bytes as there is room for on both sides.
bool DivergedCopies::merge(Mapping& mapping, HostRange piece, Toward toward, std::span<std::byte> room) {
  const std::size_t size = static_cast<std::size_t>(piece.size());
  auto* const host = static_cast<std::byte*>(piece.address());
  std::byte* const before = mapping.diverged->before.data() + (piece.begin - mapping.host.begin);
  const std::span there = room.first(size), here = room.last(size);
  if (!memory_.retrieve(there.data(), mapping.at(piece.begin), piece.size()))
    return false;
  std::memcpy(here.data(), host, size); // a host version may be changing it
  if (std::memcmp(there.data(), before, size) == 0 && std::memcmp(here.data(), before, size) == 0)
    return true;
  for (std::size_t i = 0; i < size; ++i) {
    if (there[i] != before[i]) {
      host[i] = before[i] = there[i];
      continue;
    }
    std::size_t newer = i; // a run of bytes that only the host has changed
    while (toward == Toward::kBoth && newer < size && there[newer] == before[newer] && here[newer] != before[newer])
      ++newer;
    if (newer == i)
      continue;
    if (!memory_.submit(mapping.at(piece.begin + i), here.data() + i, static_cast<std::int64_t>(newer - i)))
      return false;
    std::copy(here.begin() + static_cast<std::ptrdiff_t>(i), here.begin() + static_cast<std::ptrdiff_t>(newer),
              before + i);
    i = newer - 1;
  }
  return true;
}

} // namespace omptool

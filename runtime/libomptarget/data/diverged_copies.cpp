// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/diverged_copies.h"

#include "data/table/row_ranges.h"

#include <algorithm>
#include <cstring>

namespace omptool {

// Takes the host's bytes in these ranges for the newer ones. False: the device did not take part.
bool DivergedCopies::let_host_win(Object& object, std::span<const HostRange> ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [&](HostRange range) {
    const std::vector<HostRange> pieces = shared_pieces(object, range);
    return std::all_of(pieces.begin(), pieces.end(), [&](HostRange piece) {
      std::byte* const before = object.diverged()->before.data() + (piece.begin - object.host().begin);
      return memory_.retrieve(before, object.at(piece.begin), piece.size());
    });
  });
}

// Returns the pieces of the range that hold the same on both sides when nothing is amiss.
std::vector<HostRange> DivergedCopies::shared_pieces(const Object& object, HostRange within) {
  std::vector<HostRange> all;
  for (const HostRange part : object.parts())
    for (const HostRange piece : Transfers::without_pointers(object, common(part, within), {}))
      if (piece.size() > 0)
        all.push_back(piece);
  return all;
}

bool DivergedCopies::give_to_host(Object& object, std::span<const HostRange> newer, const HostFallback& fallback) {
  if (object.diverged() && !object.diverged()->before.empty()) {
    if (!let_host_win(object, newer) || !merge_copies(object, object.host(), Toward::kHost))
      return false;
  } else if (!object.diverged()) {
    bool can_diverge = false;
    // A launch that is not seen here sees the object as the host's (data/table/activity.h), and waits for the turn that
    // the caller has.
    const bool current = object.become_host_current(activity_, can_diverge);
    if (!current && !transfers_.copy_whole(Direction::kToHost, object, newer))
      return false;
    if (can_diverge)
      object.diverge();
    if (can_diverge && !current) { // both sides have the same now, but for what is newer
      const auto* const here = static_cast<const std::byte*>(object.host().address());
      object.diverged()->before.assign(here, here + object.host().size());
      if (!let_host_win(object, newer))
        return false;
    }
  }
  if (object.diverged()) {
    std::erase_if(object.diverged()->running, [](const HostFallback& one) { return one.is_over(); });
    object.diverged()->running.push_back(fallback);
  }
  object.mark(true);
  return true;
}

bool DivergedCopies::give_to_device(Object& object) {
  Diverged* const diverged = object.diverged();
  if (diverged) // asked before the copy: what has been written by then is copied
    std::erase_if(diverged->running, [](const HostFallback& fallback) { return fallback.is_over(); });
  const bool given = !diverged                  ? transfers_.copy_whole(Direction::kToDevice, object, {})
                     : diverged->before.empty() ? fill_all(object)
                                                : merge_copies(object, object.host(), Toward::kBoth);
  if (!given)
    return false;
  object.meet(!diverged || diverged->running.empty());
  return true;
}

// The device, which holds nothing yet, gets it all.
bool DivergedCopies::fill_all(Object& object) {
  const auto* const here = static_cast<const std::byte*>(object.host().address());
  std::vector<std::byte> now(here, here + object.host().size()); // a host version may be changing it
  for (const HostRange piece : shared_pieces(object, object.host()))
    if (!memory_.submit(object.at(piece.begin), now.data() + (piece.begin - object.host().begin), piece.size()))
      return false;
  object.diverged()->before = std::move(now);
  return true;
}

// The same where the host may have the newer side.
bool DivergedCopies::copy_diverged(Direction direction, Object& object, HostRange range, CommandList& commands) {
  if (object.is_newer_on_host()) {
    if (!commands.wait().empty()) // what follows is done at once
      return false;
    const observe::Postponed postponed;
    const std::lock_guard moving(moving_);
    const bool to_host = direction == Direction::kToHost;
    if (object.diverged() && !object.diverged()->before.empty())
      return to_host ? merge_copies(object, range, Toward::kHost)
                     : let_host_win(object, {&range, 1}) && merge_copies(object, range, Toward::kBoth);
    if (to_host && (object.diverged() || object.is_newer_on_host()))
      return true;
  }
  return transfers_.copy(direction, object, range, commands);
}

// Each side, or the host alone, gets what the other has changed. False: the device did not take part.
bool DivergedCopies::merge_copies(Object& object, HostRange within, Toward toward) {
  constexpr std::uintptr_t kAtOnce = 1U << 16;
  std::vector<std::byte> room(2 * std::min<std::size_t>(kAtOnce, static_cast<std::size_t>(object.host().size())));
  for (const HostRange piece : shared_pieces(object, within))
    for (std::uintptr_t at = piece.begin; at < piece.end; at += kAtOnce)
      if (!merge(object, {at, std::min(at + kAtOnce, piece.end)}, toward, room))
        return false;
  return true;
}

// The same of as many bytes as there is room for on both sides.
bool DivergedCopies::merge(Object& object, HostRange piece, Toward toward, std::span<std::byte> room) {
  const std::size_t size = static_cast<std::size_t>(piece.size());
  auto* const host = static_cast<std::byte*>(piece.address());
  std::byte* const before = object.diverged()->before.data() + (piece.begin - object.host().begin);
  const std::span there = room.first(size), here = room.last(size);
  if (!memory_.retrieve(there.data(), object.at(piece.begin), piece.size()))
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
    if (!memory_.submit(object.at(piece.begin + i), here.data() + i, static_cast<std::int64_t>(newer - i)))
      return false;
    std::copy(here.begin() + static_cast<std::ptrdiff_t>(i), here.begin() + static_cast<std::ptrdiff_t>(newer),
              before + i);
    i = newer - 1;
  }
  return true;
}

} // namespace omptool

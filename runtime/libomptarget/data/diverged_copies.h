// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects whose copies have diverged because a region fell back (decision 31). Its host version changes the one side
// for as long as it runs, and kernels of other threads the other. A byte that both sides write without one of them
// waiting for the other is a race of the program's own, whichever device its regions run on: every other byte has been
// written on one side only since the copies were last merged, and what was written there is what both should have. A
// region that waits for another is a launch or a fallback after it, and merges its objects first.
//
// Nobody can tell apart what the program's other code writes on the host meanwhile: it counts as written by the host
// version (decision 1 makes the copies one until the next region that needs them).
#pragma once

#include "data/table/present_table.h"
#include "data/transfers.h"
#include "threads/turn.h"

#include <mutex>
#include <span>

namespace omptool {

class DivergedCopies {
public:
  DivergedCopies(const DeviceMemory& memory, PresentTable& table, const Activity& activity, Transfers& transfers)
      : memory_(memory), table_(table), activity_(activity), transfers_(transfers) {}

  // The turn to make objects newer on one side, which copies; taken before the table's lock.
  [[nodiscard]] std::unique_lock<Turn> lock() { return std::unique_lock(moving_); }
  // The host gets what the device has, but for `newer`; from now on the host version changes it there. The caller has
  // the turn.
  bool give_to_host(Object& object, std::span<const HostRange> newer, const HostFallback& fallback);
  // The device gets what the host versions have written so far. Later writes of those that still run go there with the
  // next region that needs them. False: the device did not take part. The caller has the turn.
  bool give_to_device(Object& object);

  // As Transfers::copy(), of an object whose copies may have diverged, or that only the host has.
  bool copy(Direction direction, Object& object, HostRange range, CommandList& commands) {
    if (table_.any_host_current()) [[unlikely]]
      return copy_diverged(direction, object, range, commands);
    return transfers_.copy(direction, object, range, commands);
  }

private:
  bool copy_diverged(Direction direction, Object& object, HostRange range, CommandList& commands);
  enum class Toward { kHost, kBoth };
  bool let_host_win(Object& object, std::span<const HostRange> ranges);
  std::vector<HostRange> shared_pieces(const Object& object, HostRange within);
  bool fill_all(Object& object);
  bool merge_copies(Object& object, HostRange within, Toward toward);
  bool merge(Object& object, HostRange piece, Toward toward, std::span<std::byte> room);

  const DeviceMemory& memory_;
  PresentTable& table_;
  const Activity& activity_;
  Transfers& transfers_;
  Turn moving_;
};

} // namespace omptool

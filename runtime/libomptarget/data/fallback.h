// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions that run on the host instead, and those that come after them: which side of an object is the newer one
// (decisions 1 and 31).
//
// The copies of an object diverge because a region falls back: its host version changes the one side for as long as it
// runs, and kernels of other threads the other. A byte that both sides write without one of them waiting for the other
// is a race of the program's own, whichever device its regions run on: every other byte has been written on one side
// only since the copies were last merged, and what was written there is what both should have. A region that waits for
// another is a launch or a fallback after it, and merges its objects first.
//
// Nobody can tell apart what the program's other code writes on the host meanwhile: it counts as written by the host
// version (decision 1 makes the copies one until the next region that needs them).
#pragma once

#include "data/allocations.h"
#include "data/arguments.h"
#include "data/table/present_table.h"
#include "data/transfers.h"
#include "rtl/command_list.h"
#include "threads/turn.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace omptool {

class Fallback {
public:
  using Lock = PresentTable::Lock;
  Fallback(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, const Activity& activity,
           Allocations& allocations, Transfers& transfers)
      : memory_(memory), sharing_(sharing), table_(table), activity_(activity), allocations_(allocations),
        transfers_(transfers) {}

  // In the step in which a region takes its position: what its kernel may read that only the host has as it should be.
  // The region comes after the copies that earlier constructs have queued to and from it.
  void note_stale(Rows rows, std::span<const HostRange> globals, MappedArguments& mapped, CommandList& commands,
                  Lock& lock);
  // A region is about to run: the device gets what the host computed in regions that fell back before, and in those
  // that have done so since this one took its position. Returns which object could not be copied, or "".
  std::string to_device(MappedArguments& mapped, std::span<const HostRange> globals, CommandList& commands);
  // A copy by address is about to read or to write this device memory in part. Returns the same.
  std::string to_device(const void* device, std::size_t size);
  // A region is about to run on the host instead: the host gets what the device computed. Ends the program when an
  // object cannot be copied. Afterwards kDelete rows are unmapped. Returns what is to be said of arguments that may be
  // memory of the device, which the host cannot use, or "".
  std::string to_host(Rows rows, std::span<const HostRange> globals, const std::string& region);

  // Copies a range of an object whose copies may have diverged, or that only the host has: see Transfers::copy().
  bool copy(Direction direction, Object& object, HostRange range, CommandList& commands) {
    if (table_.any_host_current()) [[unlikely]]
      return copy_diverged(direction, object, range, commands);
    return transfers_.copy(direction, object, range, commands);
  }

private:
  Objects named(Rows rows, std::span<const HostRange> globals, Lock& lock);
  void pin_named(Rows rows, std::span<const HostRange> globals, Pins& all);
  std::string submit(const Pins& stale);
  void wait_until_resolved(const Pins& objects, Rows rows = {});
  std::string keep_on_device(Rows rows);
  bool is_out_of_reach(std::uintptr_t address);
  void forget_deleted(Rows rows);

  // Merge the two copies of an object; callers hold `moving_`. Return false if the device did not take part.
  enum class Toward { kHost, kBoth };
  bool give_to_host(Object& object, std::span<const HostRange> newer, const HostFallback& fallback);
  bool give_to_device(Object& object);
  bool copy_diverged(Direction direction, Object& object, HostRange range, CommandList& commands);
  bool let_host_win(Object& object, std::span<const HostRange> ranges);
  bool fill_all(Object& object);
  bool merge_copies(Object& object, HostRange within, Toward toward);
  bool merge(Object& object, HostRange piece, Toward toward, std::span<std::byte> room);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  const Activity& activity_;
  Allocations& allocations_;
  Transfers& transfers_;
  Turn moving_; // to make objects newer on one side, which copies; taken before the table's lock
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions that run on the host instead, and those that come after them: which side of an object is the newer one
// (decisions 1 and 31).
#pragma once

#include "data/allocations.h"
#include "data/diverged_copies.h"
#include "data/mapped_arguments.h"
#include "data/table/present_table.h"
#include "rtl/command_list.h"

#include <cstddef>
#include <span>
#include <string>

namespace omptool {

class HostSide {
public:
  using Lock = PresentTable::Lock;
  HostSide(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, Allocations& allocations,
           DivergedCopies& diverged)
      : memory_(memory), sharing_(sharing), table_(table), allocations_(allocations), diverged_(diverged) {}

  // In the step in which a region takes its position: what its kernel may read that only the host has as it should be.
  // The region comes after the copies that earlier constructs have queued to and from it.
  void note_stale(Rows rows, std::span<const HostRange> globals, Held& held, CommandList& commands, Lock& lock);
  // A region is about to run: the device gets what the host computed in regions that fell back before, and in those
  // that have done so since this one took its position. Returns which object could not be copied, or "".
  std::string make_device_current(Held& held, std::span<const HostRange> globals, CommandList& commands);
  // The same for device memory that a copy by address is about to read or to write in part.
  std::string make_device_current(const void* device, std::size_t size);
  // A region is about to run on the host instead: the host gets what the device computed. Ends the program when an
  // object cannot be copied. Afterwards kDelete rows are unmapped. Returns what is to be said of arguments that may be
  // memory of the device, which the host cannot use, or "".
  std::string make_host_current(Rows rows, std::span<const HostRange> globals, const std::string& region);

private:
  Objects named(Rows rows, std::span<const HostRange> globals, Lock& lock);
  void pin_named(Rows rows, std::span<const HostRange> globals, Pins& all);
  std::string submit(const Pins& stale);
  void wait_until_resolved(const Pins& objects, Rows rows = {});
  std::string keep_on_device(Rows rows);
  bool is_out_of_reach(std::uintptr_t address);
  void forget_deleted(Rows rows);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  Allocations& allocations_;
  DivergedCopies& diverged_;
};

} // namespace omptool

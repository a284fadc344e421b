// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the two sides of an object, without the pointers whose device copies lead to device memory.
#pragma once

#include "data/arguments.h"
#include "data/table/present_table.h"
#include "process/read_only.h"
#include "rtl/command_list.h"

#include <span>

namespace omptool {

enum class Direction { kToDevice, kToHost };

class Transfers {
public:
  Transfers(const DeviceMemory& memory, const Sharing& sharing) : memory_(memory), sharing_(sharing) {}

  // Queues copies of a range of a object, except for pointers that have been attached and what `except` names.
  bool copy(Direction direction, const Object& object, HostRange range, CommandList& commands,
            std::span<const HostRange> except = {}) {
    if (!object.device() || object.has_own_value() ||
        (direction == Direction::kToHost && read_only_memory.hold(range.begin))) [[unlikely]]
      return true;
    if (object.has_details() || !except.empty() || observe::hears_begins()) [[unlikely]]
      return copy_pieces(direction, object, range, commands, except);
    return move(direction, object, range, commands);
  }
  // The same of the whole object, at once.
  bool copy_whole(Direction direction, const Object& object, std::span<const HostRange> except);
  // Initialises the device's copy of a pointer with the base device address of its pointee. A pointer to nothing that
  // is present becomes null, unless it already points somewhere on the device.
  bool attach(const Row& row, Argument& argument, CommandList& commands);

  // Returns the range without attached pointers and what `except` names.
  static std::vector<HostRange> without_pointers(const Object& object, HostRange range,
                                                 std::span<const HostRange> except);

private:
  static bool move(Direction direction, const Object& object, HostRange piece, CommandList& commands) {
    std::byte* const device = object.at(piece.begin);
    return direction == Direction::kToDevice ? commands.submit(device, piece.address(), piece.size())
                                             : commands.retrieve(piece.address(), device, piece.size());
  }
  bool copy_pieces(Direction direction, const Object& object, HostRange range, CommandList& commands,
                   std::span<const HostRange> except);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
};

} // namespace omptool

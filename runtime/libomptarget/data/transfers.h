// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the two sides of an object, without the pointers whose device copies lead to device memory.
#pragma once

#include "data/mapped_arguments.h"
#include "data/table/present_table.h"
#include "process/read_only.h"
#include "rtl/command_list.h"

#include <span>

namespace omptool {

class Transfers {
public:
  Transfers(const DeviceMemory& memory, PresentTable& table, const Sharing& sharing)
      : memory_(memory), table_(table), sharing_(sharing) {}

  // Queues copies of a range of a mapping, except for pointers that have been attached and what `except` names.
  bool copy(Direction direction, const Mapping& mapping, HostRange range, CommandList& commands,
            std::span<const HostRange> except = {}) {
    if (!mapping.device || mapping.own_value || (direction == Direction::kToHost && read_only_memory.hold(range.begin)))
        [[unlikely]]
      return true;
    if (mapping.details() || !except.empty() || observe::hears_begins()) [[unlikely]]
      return copy_pieces(direction, mapping, range, commands, except);
    return move(direction, mapping, range, commands);
  }
  // The same of the whole object, at once.
  bool copy_whole(Direction direction, const Mapping& mapping, std::span<const HostRange> except);
  // Initialises the device's copy of a pointer with the base device address of its pointee. A pointer to nothing that
  // is present becomes null, unless it already points somewhere on the device.
  bool attach(const Row& row, Binding& binding, CommandList& commands);

  // Returns the range without attached pointers and what `except` names.
  std::vector<HostRange> without_pointers(const Mapping& mapping, HostRange range, std::span<const HostRange> except);
  std::vector<HostRange> parts_of(const Mapping& mapping);

private:
  static bool move(Direction direction, const Mapping& mapping, HostRange piece, CommandList& commands) {
    std::byte* const device = mapping.at(piece.begin);
    return direction == Direction::kToDevice ? commands.submit(device, piece.address(), piece.size())
                                             : commands.retrieve(piece.address(), device, piece.size());
  }
  bool has_pointers(const Mapping& mapping);
  bool copy_pieces(Direction direction, const Mapping& mapping, HostRange range, CommandList& commands,
                   std::span<const HostRange> except);

  const DeviceMemory& memory_;
  PresentTable& table_;
  const Sharing& sharing_;
};

} // namespace omptool

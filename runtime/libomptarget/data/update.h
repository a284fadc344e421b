// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `target update`: copies between the two sides of objects that are there.
#pragma once

#include "data/binder.h"
#include "data/diverged_copies.h"
#include "data/order.h"

namespace omptool {

class Update {
public:
  Update(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, Binder& binder, Order& order,
         DivergedCopies& diverged)
      : memory_(memory), sharing_(sharing), table_(table), binder_(binder), order_(order), diverged_(diverged) {}

  // Finds the objects that are there, and takes the position of a construct that copies them.
  void take_position(Rows rows, Held& held, CommandList& commands) {
    if (commands.leaves_events() || table_.any_host_current() || !binder_.find_exactly(rows, held, true)) [[unlikely]]
      place_in_order(rows, held, commands);
    if (observe::heard()) [[unlikely]]
      report(rows, held);
  }
  // Queues the copies. A failure ends the program.
  void copy(Rows rows, Held& held, CommandList& commands) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Binding& binding = held.bound[i];
      // An object that only the host has is not brought up to date.
      if (!binding.object || (binding.host_current && !table_.is_usable(*binding.object))) [[unlikely]]
        continue;
      const HostRange there = common(range_of(rows[i]), binding.object->host);
      if (rows[i].has(kTo) && !diverged_.send(*binding.object, there, commands)) [[unlikely]]
        fail(Direction::kToDevice, *binding.object, commands);
      if (rows[i].has(kFrom) && !diverged_.fetch(*binding.object, there, commands)) [[unlikely]]
        fail(Direction::kToHost, *binding.object, commands);
    }
  }

private:
  void report(Rows rows, Held& held);
  [[noreturn]] static void fail(Direction direction, const Mapping& object, const CommandList& commands);
  void place_in_order(Rows rows, Held& held, CommandList& commands);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  Binder& binder_;
  Order& order_;
  DivergedCopies& diverged_;
};

} // namespace omptool

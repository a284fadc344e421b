// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a construct: what nobody refers to any more is copied back and goes.
#pragma once

#include "data/binder.h"
#include "data/diverged_copies.h"
#include "data/order.h"

#include <string>

namespace omptool {

class End {
public:
  using Lock = PresentTable::Lock;
  End(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, Binder& binder, Order& order,
      DivergedCopies& diverged)
      : memory_(memory), sharing_(sharing), table_(table), binder_(binder), order_(order), diverged_(diverged) {}

  // Finds what rows that an earlier call mapped refer to, and takes the position of a construct that releases them.
  void take_position(Rows rows, Held& held, CommandList& commands);
  // Releases the rows. kAbandoned: no region has run, nothing is copied back but what other constructs have left.
  void release(Rows rows, Held& held, Release how, CommandList& commands) {
    if (!rows.empty())
      release_rows(rows, held, how, commands);
  }
  // The same under the table's lock.
  void release(Rows rows, Held& held, Release how, CommandList& commands, Lock& lock);
  // Queues the copies back. A failure ends the program. `region` names the region that has run, for the message; "":
  // none has.
  void copy_back(Rows rows, Held& held, Release how, CommandList& commands, const std::string& region = {}) {
    if (held.any_leaves || (held.flags & kAlways))
      copy_rows_back(rows, held, how, commands, region);
  }
  // All that was queued has ended; "" or why it failed. No lock may be held.
  void finish(Held& held, CommandList& commands, const std::string& failure = {}, const std::string& region = {}) {
    commands.set_ended(failure);
    if (held.bound.size() != 0)
      let_go(held, commands, region);
  }

private:
  void place_in_order(Rows rows, Held& held, CommandList& commands);
  void release_rows(Rows rows, Held& held, Release how, CommandList& commands);
  void copy_rows_back(Rows rows, Held& held, Release how, CommandList& commands, const std::string& region);
  void let_go(Held& held, CommandList& commands, const std::string& region);
  bool release_at_once(const Row& row, Held& held, Binding& binding, Release how);
  void release_first(std::size_t count, Rows rows, Held& held, Release how, CommandList& commands, Lock& lock);
  void give_up(Mapping& mapping, const std::string& region);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  Binder& binder_;
  Order& order_;
  DivergedCopies& diverged_;
};

} // namespace omptool

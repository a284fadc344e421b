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
  // `region` names the region that has run, for the message of a failure.
  void release_position(Rows rows, Held& held, Release how, CommandList& commands, const char* region = nullptr);
  // The same under the table's lock.
  void release(Rows rows, Held& held, Release how, CommandList& commands, const char* region, Lock& lock);
  // Queues the copies back. A failure ends the program.
  void copy_back(Rows rows, Held& held, Release how, CommandList& commands, const char* region = nullptr);
  // All that was queued has ended; "" or why it failed. No lock may be held.
  void finish(Held& held, CommandList& commands, const std::string& failure = {});

private:
  static void drop(const Row& row, Binding& binding, Release how);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  Binder& binder_;
  Order& order_;
  DivergedCopies& diverged_;
};

} // namespace omptool

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
  void take_position(Rows rows, Held& held, CommandList& commands);
  // Queues the copies. A failure ends the program.
  void copy(Rows rows, Held& held, CommandList& commands);

private:
  void place_in_order(Rows rows, Held& held, CommandList& commands);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  Binder& binder_;
  Order& order_;
  DivergedCopies& diverged_;
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `target update`: copies between the two sides of objects that are there.
#pragma once

#include "data/binder.h"
#include "data/diverged_copies.h"
#include "data/end.h"
#include "data/order.h"

namespace omptool {

class Update {
public:
  Update(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, Binder& binder, Order& order,
         DivergedCopies& diverged, End& end)
      : memory_(memory), sharing_(sharing), table_(table), binder_(binder), order_(order), diverged_(diverged),
        end_(end) {}

  // Copies the rows' ranges of present objects.
  void update(Rows rows);
  // The same in steps: the position, then the copies, of which a failure ends the program.
  void take_position_of_update(Rows rows, Held& held, CommandList& commands);
  void queue_update(Rows rows, Held& held, CommandList& commands);

private:
  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  Binder& binder_;
  Order& order_;
  DivergedCopies& diverged_;
  End& end_;
};

} // namespace omptool

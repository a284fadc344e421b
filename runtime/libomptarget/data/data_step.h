// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a device that the steps of constructs use: their beginning, their end, and updates.
#pragma once

#include "data/binder.h"
#include "data/diverged_copies.h"
#include "data/order.h"
#include "data/report.h"

namespace omptool {

class DataStep {
public:
  DataStep(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, DivergedCopies& diverged)
      : memory_(memory), sharing_(sharing), table_(table), diverged_(diverged) {}

protected:
  using Lock = PresentTable::Lock;
  using Seen = observe::RowsSeen::Kind;
  // Tells listeners of the rows, as their objects are now. No lock may be held.
  void report(Seen kind, Rows rows, Held& held) const {
    report_rows(kind, memory_.number(), sharing_, table_, rows, held);
  }

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  DivergedCopies& diverged_;
  Binder binder_{table_, sharing_};
  Order order_{table_};
};

} // namespace omptool

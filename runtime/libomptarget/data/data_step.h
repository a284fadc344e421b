// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of constructs that handle data: their beginning, their end, and updates. They share the parts of the
// device, and the order of its constructs (decision 24): what each comes after when it takes its position, and the
// events that it leaves for those that come later.
#pragma once

#include "data/binder.h"
#include "data/diverged_copies.h"
#include "observe/events/sink.h"
#include "rtl/command_list.h"

namespace omptool {

class DataStep {
public:
  DataStep(const DeviceMemory& memory, const Sharing& sharing, PresentTable& table, DivergedCopies& diverged)
      : memory_(memory), sharing_(sharing), table_(table), diverged_(diverged) {}

protected:
  using Lock = PresentTable::Lock;
  using Seen = observe::RowsSeen::Kind;

  // Lets the construct's operations come after those that fill its objects, and after those that still copy back what
  // has been mapped where it creates some.
  void queue_behind(Held& held, CommandList& commands, Lock& lock);
  // Leaves what the constructs that come later are to come after.
  static void leave_event(Object& object, bool transfers, bool uses, CommandList& commands, Lock& lock);
  // Tells listeners of the rows, as their objects are now. No lock may be held: the sink would copy the rows.
  void report(Seen kind, Rows rows, Held& held);

  const DeviceMemory& memory_;
  const Sharing& sharing_;
  PresentTable& table_;
  DivergedCopies& diverged_;
  Binder binder_{table_, sharing_};
};

} // namespace omptool

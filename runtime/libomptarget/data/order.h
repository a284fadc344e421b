// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the constructs on one device (decision 24): what each comes after when it takes its position, and the
// events that it leaves for those that come later.
#pragma once

#include "data/mapped_arguments.h"
#include "data/table/present_table.h"
#include "rtl/command_list.h"

namespace omptool {

class Order {
public:
  using Lock = PresentTable::Lock;
  explicit Order(PresentTable& table) : table_(table) {}

  // Lets the construct's operations come after those that fill its objects, and after those that still copy back what
  // has been mapped where it creates some.
  void queue_behind(Held& held, CommandList& commands, Lock& lock);
  // Leaves what the constructs that come later are to come after.
  void leave_events(Rows rows, Held& held, Purpose purpose, CommandList& commands, Lock& lock);
  void leave_event(Mapping& mapping, bool transfers, bool uses, CommandList& commands, Lock& lock);
  // Takes an object that leaves out of the table at once, so that nobody waits for it there. Its bytes go back when all
  // that uses it has ended, and who maps the memory again comes after that.
  void depart(Mapping& mapping, Held& held, CommandList& commands, Lock& lock);

private:
  bool forget_if_over(Mapping& mapping, Lock& lock);

  PresentTable& table_;
};

} // namespace omptool

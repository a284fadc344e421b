// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/update.h"

#include "process/message.h"

namespace omptool {

void Update::place_in_order(Rows rows, Held& held, CommandList& commands) {
  HostFallback::end();
  Lock lock(table_);
  binder_.bind_known(rows, held, true, lock);
  queue_behind(held, commands, lock);
  for (std::size_t i = 0; i < rows.size() && held.leaves_events; ++i)
    if (held.bound[i].object)
      leave_event(*held.bound[i].object, rows[i].has(kTo), rows[i].has(kFrom), commands, lock);
}

void Update::fail(Direction direction, const Object& object, const CommandList& commands) {
  const std::string name = describe(object), why = commands.failure();
  if (direction == Direction::kToDevice)
    die("updating the device's copy of %s failed%s", name.c_str(), why.c_str());
  die("updating %s from the device failed%s", name.c_str(), why.c_str());
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/order.h"

#include <utility>

namespace omptool {

void come_after_others(MappedArguments& mapped, CommandList& commands, PresentTable& table, PresentTable::Lock& lock) {
  for (Argument& argument : mapped.arguments)
    for (const ArgumentObject* const one : argument.both()) {
      if (*one)
        if (EventPtr written = (*one)->pending_write(lock.over()))
          commands.after(std::move(written));
      if (one->fresh)
        for (EventPtr& ended : table.departures(lock).pending((*one)->host()))
          commands.after(std::move(ended));
    }
  mapped.leaves_events = commands.leaves_events();
}

void leave_events(Object& object, bool transfers, bool uses, CommandList& commands, PresentTable::Lock& lock) {
  if (transfers)
    object.note_write(commands.filled(), lock.over());
  if (uses)
    object.note_use(commands.ended(), lock.over());
}

} // namespace omptool

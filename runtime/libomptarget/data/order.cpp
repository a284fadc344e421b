// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/order.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace omptool {

void Order::queue_behind(Held& held, CommandList& commands, Lock& lock) {
  for (Binding& binding : held.bound)
    for (const RowObject* const one : binding.both()) {
      if (*one && lock.touch(**one).queued && !forget_if_over(**one, lock))
        if (const EventPtr& written = (*one)->details()->written; written && !written->is_done())
          commands.after(written);
      if (one->fresh)
        for (EventPtr& ended : table_.departures((*one)->host, lock))
          commands.after(std::move(ended));
    }
  held.leaves_events = commands.leaves_events();
}

// Forgets the object's events if all have ended, so that exact matches find it again. The caller holds its shard's
// lock.
bool Order::forget_if_over(Mapping& mapping, Lock& lock) {
  Mapping::Details& details = mapping.make_details();
  const auto is_over = [](const EventPtr& event) { return !event || event->is_done(); };
  if (!is_over(details.written) || !std::all_of(details.users.begin(), details.users.end(), is_over))
    return false;
  lock.give_up(std::move(details.written));
  for (EventPtr& user : details.users)
    lock.give_up(std::move(user));
  details.users.clear();
  mapping.queued = false;
  return true;
}

void Order::leave_events(Rows rows, Held& held, Purpose purpose, CommandList& commands, Lock& lock) {
  const bool uses = purpose == Purpose::kRegion;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    Binding& binding = held.bound[i];
    if (binding.object)
      leave_event(*binding.object, binding.object.fresh || row.has(kTo | kAlways), uses, commands, lock);
    if (binding.cell)
      leave_event(*binding.cell, true, uses, commands, lock);
  }
}

void Order::leave_event(Mapping& mapping, bool transfers, bool uses, CommandList& commands, Lock& lock) {
  Mapping::Details& details = lock.touch(mapping).make_details();
  mapping.queued = true;
  std::erase_if(details.users, [&](EventPtr& user) {
    const bool over = user->is_done();
    if (over)
      lock.give_up(std::move(user));
    return over;
  });
  if (transfers && details.written != commands.filled())
    lock.give_up(std::exchange(details.written, commands.filled()));
  if (uses && (details.users.empty() || details.users.back() != commands.ended()))
    details.users.push_back(commands.ended());
}

void Order::depart(Mapping& mapping, Held& held, CommandList& commands, Lock& lock) {
  for (EventPtr& event : mapping.pending(commands.own_end()))
    commands.after(std::move(event));
  table_.depart(mapping.host, commands.ended(), lock);
  held.departs = true;
  table_.take_from_table(mapping, lock);
}

} // namespace omptool

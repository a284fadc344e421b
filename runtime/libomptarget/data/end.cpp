// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/end.h"

#include "data/table/row_ranges.h"
#include "observe/events/sink.h"
#include "process/message.h"
#include "region_name.h"

#include <algorithm>

namespace omptool {
// ---- position ----

void End::place_in_order(Rows rows, Held& held, CommandList& commands) {
  HostFallback::end();
  {
    Lock lock(table_);
    binder_.bind_known(rows, held, false, lock);
    queue_behind(held, commands, lock);
    release_in_order(rows, held, Release::kNormal, commands, lock);
  }
  if (observe::heard()) [[unlikely]]
    report(Seen::kReleased, rows, held);
}

// ---- release ----

void End::release_in_order(Rows rows, Held& held, Release how, CommandList& commands) {
  Lock lock(table_);
  release_in_order(rows, held, how, commands, lock);
}

void End::release_in_order(Rows rows, Held& held, Release how, CommandList& commands, Lock& lock) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (RowObject* const one : held.bound[i].both())
      if (*one)
        lock.touch(**one);
  for (std::size_t i = rows.size(); i-- > 0;)
    if (rows[i].maps()) {
      if (held.bound[i].object)
        drop_object(rows[i], *held.bound[i].object, how);
      if (held.bound[i].cell) // DELETE is about the pointee: the pointer's cell goes by its count
        drop(rows[i], *held.bound[i].cell, kCounts, false);
    }
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (RowObject* const one : held.bound[i].both()) {
      one->leaves = *one && is_left(**one, held);
      if (!one->leaves)
        continue;
      held.any_leaves = true;
      bool is_queued = held.leaves_events;
      (*one)->for_pending([&](const EventPtr& event) { is_queued = is_queued || event != commands.own_end(); });
      if (is_queued)
        depart(**one, held, commands, lock);
      else
        (*one)->state = Mapping::State::kLeaving;
    }
}

// ---- the copies back ----

// Another construct may have ended meanwhile: what it has left to an abandoned region still holds its results.
bool End::holds_results(const Mapping& object, Held& held) {
  return std::none_of(held.bound.begin(), held.bound.end(),
                      [&](const Binding& one) { return one.object == &object && one.object.fresh; });
}

// Tells if the row that gives up the object copies the bytes of this one back.
bool End::is_repeated(Rows rows, const Row& row, const Mapping& object, Held& held) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (held.bound[i].object.leaves && held.bound[i].object == &object && rows[i].has(kFrom) &&
        range_of(rows[i]).contains(range_of(row)))
      return true;
  return false;
}

void End::fail(const Mapping& object, const CommandList& commands, std::string_view region) {
  die("%s%s%scopying back %s failed%s", region.empty() ? "" : "region ", region_name(region).c_str(),
      region.empty() ? "" : ": ", describe(object).c_str(), commands.failure().c_str());
}

// ---- the end ----

// The caller gives the objects up next.
void End::forget_departures(Held& held, const EventPtr& end) {
  Lock lock(table_);
  for (Binding& binding : held.bound)
    for (const RowObject* const one : binding.both())
      if (one->leaves)
        table_.forget_departure((*one)->host, end, lock);
}

} // namespace omptool

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
  for (std::size_t i = rows.size(); i-- > 0;)
    if (rows[i].maps()) {
      if (held.bound[i].object)
        held.bound[i].object->uncount(of_object(rows[i], how));
      if (held.bound[i].cell) // DELETE is about the pointee: the pointer's cell goes by its count
        held.bound[i].cell->uncount({rows[i].has(kHold), rows[i].has(kCounts), false});
    }
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (RowObject* const one : held.bound[i].both()) {
      Object::Events pending;
      const Object::Departure departure =
          *one ? (*one)->leave_in_order(held.call(), held.leaves_events, commands.own_end(), pending)
               : Object::Departure::kStays;
      one->leaves = departure != Object::Departure::kStays;
      held.any_leaves = held.any_leaves || one->leaves;
      if (departure != Object::Departure::kDeparts)
        continue;
      // Remove the object from the table at once, so that no other construct waits for it there. The copy back comes
      // after all pending uses, and a construct that maps the memory again comes after the copy.
      for (EventPtr& event : pending)
        commands.after(std::move(event));
      table_.depart(**one, commands.ended(), lock);
      held.departs = true;
    }
}

// ---- the copies back ----

// Another construct may have ended meanwhile: what it has left to an abandoned region still holds its results.
bool End::holds_results(const Object& object, Held& held) {
  return std::none_of(held.bound.begin(), held.bound.end(),
                      [&](const Binding& one) { return one.object == &object && one.object.fresh; });
}

RangeSet End::copied_back(Rows rows, Held& held) {
  RangeSet ranges;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const RowObject& object = held.bound[i].object; object.leaves && rows[i].has(kFrom))
      ranges.add(common(range_of(rows[i]), object->host()));
  return ranges;
}

void End::fail(const Object& object, const CommandList& commands, std::string_view region) {
  die("%s%s%scopying back %s failed%s", region.empty() ? "" : "region ", region_name(region).c_str(),
      region.empty() ? "" : ": ", describe(object).c_str(), commands.failure().c_str());
}

// ---- the end ----

// The caller unmaps the objects next.
void End::forget_departures(Held& held, const EventPtr& end) {
  Lock lock(table_);
  for (Binding& binding : held.bound)
    for (const RowObject* const one : binding.both())
      if (one->leaves)
        table_.forget_departure((*one)->host(), end, lock);
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/construct.h"

#include "data/report.h"
#include "data/table/row_ranges.h"
#include "region_name.h"

#include <algorithm>
#include <utility>

namespace omptool {

void Construct::report(Seen kind) {
  report_rows(kind, rows_, data(), mapped_);
}

void Construct::release_in_order(std::size_t pending) {
  Lock lock(data().table);
  release_in_order(pending, lock);
}

void Construct::release_in_order(std::size_t pending, Lock& lock) {
  for (std::size_t i = pending; i-- > 0;)
    if (rows_[i].maps()) {
      Argument& argument = mapped_.arguments[i];
      if (argument.object)
        argument.object->uncount(of_object(rows_[i]));
      if (argument.cell) // DELETE is about the pointee: the pointer's cell goes by its count
        argument.cell->uncount({rows_[i].has(kHold), rows_[i].has(kCounts), false});
    }
  for (std::size_t i = 0; i < pending; ++i)
    for (ArgumentObject* const one : mapped_.arguments[i].both()) {
      Object::Events awaited;
      const Object::Departure departure =
          *one ? (*one)->leave_in_order(mapped_.call(), mapped_.leaves_events, commands_.own_end(), awaited)
               : Object::Departure::kStays;
      one->leaves = departure != Object::Departure::kStays;
      mapped_.any_leaves = mapped_.any_leaves || one->leaves;
      if (departure != Object::Departure::kDeparts)
        continue;
      // Remove the object from the table at once, so that no other construct waits for it there. The copy back comes
      // after all pending uses, and a construct that maps the memory again comes after the copy.
      for (EventPtr& event : awaited)
        commands_.after(std::move(event));
      data().table.depart(**one, commands_.ended(), lock);
      mapped_.departs = true;
    }
}

// Another construct may have ended meanwhile: what it has left to an abandoned region still holds its results.
bool Construct::holds_results(const Object& object) {
  return std::none_of(mapped_.arguments.begin(), mapped_.arguments.end(),
                      [&](const Argument& one) { return one.object == &object && one.object.fresh; });
}

RangeSet Construct::copied_back() {
  RangeSet ranges;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (const ArgumentObject& object = mapped_.arguments[i].object; object.leaves && rows_[i].has(kFrom))
      ranges.add(common(range_of(rows_[i]), object->host()));
  return ranges;
}

void Construct::fail_to_copy_back(const Object& object) {
  const std::string during = region_ ? "region " + region_name(*region_) + ": " : std::string();
  die("%scopying back %s failed%s", during.c_str(), describe(object).c_str(), commands_.failure().c_str());
}

// The caller unmaps the objects next.
void Construct::forget_departures() {
  Lock lock(data().table);
  for (Argument& argument : mapped_.arguments)
    for (const ArgumentObject* const one : argument.both())
      if (one->leaves)
        data().table.departures(lock).forget((*one)->host(), commands_.own_end());
}

} // namespace omptool

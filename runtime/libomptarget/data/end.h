// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a construct: what nobody refers to any more is copied back and goes.
#pragma once

#include "data/data_step.h"
#include "data/table/range_set.h"

#include <optional>
#include <string_view>

namespace omptool {

class End : DataStep {
public:
  using DataStep::DataStep;
  using DataStep::Lock;

  // Finds what rows that an earlier call mapped refer to, and takes the position of a construct that releases them.
  void take_position(Rows rows, Held& held, CommandList& commands) {
    if (commands.leaves_events() || table_.any_host_current() || !binder_.find_exactly(rows, held, false)) [[unlikely]]
      place_in_order(rows, held, commands);
    else
      release(rows, held, Release::kNormal, commands);
  }
  // Releases the rows. kAbandoned: no region has run, nothing is copied back but what other constructs have left.
  void release(Rows rows, Held& held, Release how, CommandList& commands) {
    const bool is_told = observe::heard() && !rows.empty();
    std::size_t left = rows.size();
    while (left > 0 && !held.leaves_events && release_at_once(rows[left - 1], held, held.bound[left - 1], how, is_told))
      --left;
    if (left > 0) [[unlikely]]
      release_in_order(rows.first(left), held, how, commands);
    if (is_told) [[unlikely]]
      report(Seen::kReleased, rows, held);
  }
  // The same under the table's lock. The caller tells listeners when that is released.
  void release_in_order(Rows rows, Held& held, Release how, CommandList& commands, Lock& lock);
  // Queues the copies back. A failure ends the program. `region` names the region that has run, for the message; "":
  // none has.
  void copy_back(Rows rows, Held& held, Release how, CommandList& commands, std::string_view region = {}) {
    std::optional<RangeSet> by_leaving; // what rows that give up objects copy back
    for (std::size_t i = held.any_leaves || (held.flags & kAlways) ? rows.size() : 0; i-- > 0;) {
      const Row& row = rows[i];
      Object* const object = held.bound[i].object;
      if (!object || !row.maps() || !row.has(kFrom) || row.size <= 0)
        continue;
      // Read only of an object that is pinned: release_at_once() unpins others, and their records may be in use again.
      const auto there = [&] { return common(range_of(row), object->host()); };
      const bool is_last = held.bound[i].object.leaves;
      bool is_wanted = how == Release::kNormal;
      if (is_last || held.gives_up(*object)) {
        is_wanted = is_wanted || holds_results(*object, held);
        if (!is_last && is_wanted && !by_leaving) [[unlikely]]
          by_leaving = copied_back(rows, held);
        is_wanted = is_wanted && (is_last || !by_leaving->contains(there()));
      } else {
        is_wanted = is_wanted && row.has(kAlways);
      }
      if (is_wanted && !diverged_.copy(Direction::kToHost, *object, there(), commands)) [[unlikely]]
        fail(*object, commands, region);
    }
  }
  // All that was queued has ended. No lock may be held.
  void finish(Held& held, CommandList& commands, std::string_view region = {}) {
    for (const Binding& one : held.bound) {
      if (one.object && !one.object.leaves && one.pinned)
        table_.unpin(*one.object);
      if (one.cell && !one.cell.leaves) [[unlikely]]
        table_.unpin(*one.cell);
    }
    if (held.departs) [[unlikely]]
      forget_departures(held, commands.own_end());
    for (std::size_t i = 0; held.any_leaves && i < held.bound.size(); ++i)
      for (RowObject* const one : held.bound[i].both())
        if (one->leaves)
          unmap(**one, region);
  }

private:
  void place_in_order(Rows rows, Held& held, CommandList& commands);
  static Object::Uncount of_object(const Row& row, Release how) {
    return {row.has(kHold), row.any(kCounts | kPointer), how == Release::kNormal && row.has(kDelete)};
  }
  // Releases a row by its object's lock alone. `is_told`: those who listen have yet to see the object. False:
  // operations on the object are queued, or the row has a cell, too, and nothing has been done.
  static bool release_at_once(const Row& row, Held& held, Binding& binding, Release how, bool is_told) {
    if (binding.cell) [[unlikely]]
      return false;
    if (!binding.object || !row.maps())
      return true;
    const bool is_over = !row.has(kAlways) && !is_told; // nothing more is done with it for this row, if it stays
    switch (binding.object->uncount(of_object(row, how), is_over, held.call())) {
    case Object::Left::kQueued:
      return false;
    case Object::Left::kLeaves:
      held.any_leaves = binding.object.leaves = true;
      break;
    case Object::Left::kUnpinned:
      binding.pinned = false;
      break;
    case Object::Left::kStays:
      break;
    }
    return true;
  }
  [[gnu::noinline]] void release_in_order(Rows rows, Held& held, Release how, CommandList& commands);
  static bool holds_results(const Object& object, Held& held);
  static RangeSet copied_back(Rows rows, Held& held);
  [[noreturn]] static void fail(const Object& object, const CommandList& commands, std::string_view region);
  void unmap(Object& object, std::string_view region) {
    const HostRange host = object.host(); // a vacant record is anybody's
    const std::ptrdiff_t padding = object.padding();
    if (std::byte* const device = table_.leave(object, region))
      memory_.release(device, host.address(), host.size(), region, padding);
  }
  void forget_departures(Held& held, const EventPtr& end);
};

} // namespace omptool

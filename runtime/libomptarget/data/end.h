// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a construct: what nobody refers to any more is copied back and goes.
#pragma once

#include "data/data_step.h"

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
    for (std::size_t i = held.any_leaves || (held.flags & kAlways) ? rows.size() : 0; i-- > 0;) {
      const Row& row = rows[i];
      Mapping* const object = held.bound[i].object;
      if (!object || !row.maps() || !row.has(kFrom) || row.size <= 0)
        continue;
      const bool is_last = held.bound[i].object.leaves;
      const bool is_wanted = is_last || held.gives_up(*object)
                                 ? (how == Release::kNormal || holds_results(*object, held)) &&
                                       (is_last || !is_repeated(rows, row, *object, held))
                                 : how == Release::kNormal && row.has(kAlways);
      if (is_wanted && !diverged_.copy(Direction::kToHost, *object, common(range_of(row), object->host), commands))
          [[unlikely]]
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
          give_up(**one, region);
  }

private:
  void place_in_order(Rows rows, Held& held, CommandList& commands);
  // Takes away the row's reference, if it holds one: its flags have any of `counting`, or the object is apart. The
  // caller holds the lock of the object's shard, here and below.
  static void drop(const Row& row, Mapping& mapping, std::uint32_t counting, bool deletes) {
    if (mapping.infinite && !row.has(kHold))
      return;
    std::int64_t& count = row.has(kHold) ? mapping.holds : mapping.references;
    if (deletes)
      count = 0;
    else if (count > 0 && (row.any(counting) || mapping.is_apart()))
      --count;
  }
  static void drop_object(const Row& row, Mapping& object, Release how) {
    drop(row, object, kCounts | kPointer, how == Release::kNormal && row.has(kDelete));
  }
  // Tells if nobody refers to the object any more, and it is there.
  static bool is_left(const Mapping& object, const Held& held) {
    return !object.infinite && object.references == 0 && object.holds == 0 &&
           (object.state == Mapping::State::kReady ||
            (object.state == Mapping::State::kCreating && object.creator == &held.bound));
  }
  // Releases a row by the lock of one shard. `is_told`: those who listen have yet to see the object. False: the object
  // is queued for, or the row has a cell, too, and nothing has been done.
  bool release_at_once(const Row& row, Held& held, Binding& binding, Release how, bool is_told) {
    if (binding.cell) [[unlikely]]
      return false;
    if (!binding.object || !row.maps())
      return true;
    Mapping& object = *binding.object;
    const auto guard = table_.guard(object);
    if (object.queued) [[unlikely]]
      return false;
    drop_object(row, object, how);
    if (is_left(object, held)) {
      object.state = Mapping::State::kLeaving;
      held.any_leaves = binding.object.leaves = true;
    } else if (object.state == Mapping::State::kReady && !row.has(kAlways) && !is_told) {
      --object.pins; // nothing more is done with it for this row
      binding.pinned = false;
    }
    return true;
  }
  [[gnu::noinline]] void release_in_order(Rows rows, Held& held, Release how, CommandList& commands);
  static bool holds_results(const Mapping& object, Held& held);
  static bool is_repeated(Rows rows, const Row& row, const Mapping& object, Held& held);
  [[noreturn]] static void fail(const Mapping& object, const CommandList& commands, std::string_view region);
  void give_up(Mapping& mapping, std::string_view region) {
    const HostRange host = mapping.host; // a vacant record is anybody's
    const std::ptrdiff_t padding = mapping.padding;
    if (std::byte* const device = table_.leave(mapping, region))
      memory_.release(device, host.address(), host.size(), region, padding);
  }
  void forget_departures(Held& held, const EventPtr& end);
};

} // namespace omptool

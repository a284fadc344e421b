// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/end.h"

#include "data/report.h"
#include "data/table/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"

#include <algorithm>
#include <functional>

namespace omptool {
namespace {

// Takes the row's references away. The caller holds the locks of the objects' shards.
void drop(const Row& row, const Binding& binding, Release how) {
  const bool is_forced = how == Release::kNormal && row.has(kDelete);
  Mapping* const object = binding.object;
  if (object && (!object->infinite || row.has(kHold))) {
    std::int64_t& count = row.has(kHold) ? object->holds : object->references;
    if (is_forced)
      count = 0;
    else if (count > 0 && (row.any(kCounts | kPointer) || object->is_apart()))
      --count;
  }
  // DELETE is about the pointee: the pointer's cell goes by its count.
  if (Mapping* const cell = binding.cell;
      cell && (row.has(kCounts) || cell->is_apart()) && (!cell->infinite || row.has(kHold)))
    if (std::int64_t& count = row.has(kHold) ? cell->holds : cell->references; count > 0)
      --count;
}

// Tells if nobody refers to the object any more, and it is there.
bool is_left(const Mapping* mapping, const Held& held) {
  return mapping && !mapping->infinite && mapping->references == 0 && mapping->holds == 0 &&
         (mapping->state == Mapping::State::kReady ||
          (mapping->state == Mapping::State::kCreating && mapping->creator == &held.bound));
}

} // namespace

// ---- position ----

void End::take_position(Rows rows, Held& held, CommandList& commands) {
  if (commands.leaves_events() || table_.any_host_current() || !binder_.find_exactly(rows, held, false)) [[unlikely]]
    place_in_order(rows, held, commands);
  else
    release(rows, held, Release::kNormal, commands);
}

void End::place_in_order(Rows rows, Held& held, CommandList& commands) {
  HostFallback::end();
  {
    Lock lock(table_);
    const auto is_being_filled = [&](Mapping* mapping) {
      return mapping && lock.touch(*mapping).state == Mapping::State::kCreating;
    };
    for (bool again = true; again;) {
      again = false;
      binder_.unbind(held, lock);
      order_.wait_until_none_leaves(rows, lock);
      for (std::size_t i = 0; i < rows.size() && !again; ++i) {
        if (!rows[i].maps())
          continue;
        Binding& binding = held.bound[i];
        binder_.bind_released(rows[i], binding, lock);
        Mapping* const filled = is_being_filled(binding.object) ? binding.object : binding.cell;
        again = is_being_filled(filled);
        if (again)
          lock.wait_for(*filled);
      }
    }
    order_.queue_behind(held, commands, lock);
    held.leaves_events = commands.leaves_events();
    release(rows, held, Release::kNormal, commands, lock);
  }
}

// ---- release ----

void End::release_rows(Rows rows, Held& held, Release how, CommandList& commands) {
  std::size_t left = rows.size();
  while (left > 0 && !held.leaves_events && release_at_once(rows[left - 1], held, held.bound[left - 1], how))
    --left;
  if (left > 0) {
    Lock lock(table_);
    release_first(left, rows, held, how, commands, lock);
  }
  if (observe::heard()) [[unlikely]] {
    Lock lock(table_);
    report_rows(observe::RowsSeen::Kind::kReleased, memory_.number(), sharing_.any(), rows, held.bound);
  }
}

// By the lock of one shard. False: the object is queued for, or the row has a cell, too, and nothing has been done.
bool End::release_at_once(const Row& row, Held& held, Binding& binding, Release how) {
  if (binding.cell)
    return false;
  if (!binding.object || !row.maps())
    return true;
  Mapping& object = *binding.object;
  const auto guard = table_.guard(object);
  if (object.queued)
    return false;
  drop(row, binding, how);
  binding.object_leaves = is_left(&object, held);
  if (binding.object_leaves)
    object.state = Mapping::State::kLeaving;
  held.any_leaves = held.any_leaves || binding.object_leaves;
  return true;
}

void End::release(Rows rows, Held& held, Release how, CommandList& commands, Lock& lock) {
  release_first(rows.size(), rows, held, how, commands, lock);
  if (observe::heard()) [[unlikely]]
    report_rows(observe::RowsSeen::Kind::kReleased, memory_.number(), sharing_.any(), rows, held.bound);
}

void End::release_first(std::size_t count, Rows rows, Held& held, Release how, CommandList& commands, Lock& lock) {
  for (std::size_t i = 0; i < count; ++i)
    for (Mapping* mapping : {held.bound[i].object, held.bound[i].cell})
      if (mapping)
        lock.touch(*mapping);
  for (std::size_t i = count; i-- > 0;)
    if (rows[i].maps())
      drop(rows[i], held.bound[i], how);
  const auto leave = [&](Mapping* mapping) {
    if (!is_left(mapping, held))
      return false;
    held.any_leaves = true;
    if (held.leaves_events || !mapping->pending(commands.own_end()).empty())
      order_.depart(*mapping, held, commands, lock);
    else
      mapping->state = Mapping::State::kLeaving;
    return true;
  };
  for (std::size_t i = 0; i < count; ++i) {
    held.bound[i].object_leaves = leave(held.bound[i].object);
    held.bound[i].cell_leaves = leave(held.bound[i].cell);
  }
}

// ---- the copies back ----

void End::copy_rows_back(Rows rows, Held& held, Release how, CommandList& commands, const std::string& region) {
  // Another construct may have ended meanwhile: what it has left to an abandoned region still holds its results.
  const auto holds_results = [&](const Mapping* object) {
    return how == Release::kNormal || std::none_of(held.bound.begin(), held.bound.end(), [&](const Binding& one) {
             return one.object == object && one.object_fresh;
           });
  };
  for (std::size_t i = rows.size(); i-- > 0;) {
    const Row& row = rows[i];
    Mapping* const object = held.bound[i].object;
    if (!object || !row.maps() || !row.has(kFrom) || row.size <= 0)
      continue;
    const bool is_wanted = held.gives_up(*object) ? holds_results(object) : how == Release::kNormal && row.has(kAlways);
    if (is_wanted && !diverged_.fetch(*object, common(range_of(row), object->host), commands))
      die("%s%s%scopying back %s failed%s", region.empty() ? "" : "region ", region.c_str(), region.empty() ? "" : ": ",
          describe(*object).c_str(), commands.failure().c_str());
  }
}

// ---- the end ----

void End::let_go(Held& held, CommandList& commands, const std::string& region) {
  for (const Binding& binding : held.bound) {
    if (binding.object && !binding.object_leaves)
      table_.unpin(*binding.object);
    if (binding.cell && !binding.cell_leaves)
      table_.unpin(*binding.cell);
  }
  if (held.any_leaves)
    for (const Binding& binding : held.bound) {
      if (binding.object_leaves)
        give_up(*binding.object, region);
      if (binding.cell_leaves)
        give_up(*binding.cell, region);
    }
  if (held.departs) {
    Lock lock(table_);
    std::erase_if(table_.departures(lock),
                  [end = commands.own_end()](const PresentTable::Departure& one) { return one.ended == end; });
  }
  memory_.free_discarded();
}

void End::give_up(Mapping& mapping, const std::string& region) {
  const HostRange host = mapping.host; // a vacant record is anybody's
  if (std::byte* const device = table_.leave(mapping, region))
    memory_.release(device, host.address(), host.size(), region);
}

} // namespace omptool

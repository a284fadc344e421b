// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/end.h"

#include "data/report.h"
#include "data/table/mapping_fault.h"
#include "data/table/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"

#include <algorithm>
#include <functional>

namespace omptool {

void End::take_position(Rows rows, Held& held, CommandList& commands) {
  HostFallback::end();
  {
    Lock lock(table_);
    const auto is_being_filled = [&](const MappingPtr& mapping) {
      return mapping && lock.touch(*mapping).state == Mapping::State::kCreating;
    };
    for (bool again = true; again;) {
      again = false;
      order_.wait_until_none_leaves(rows, lock);
      for (std::size_t i = 0; i < rows.size() && !again; ++i) {
        if (!rows[i].maps())
          continue;
        Binding& binding = held.bound[i];
        binder_.bind_released(rows[i], binding, lock);
        const MappingPtr filled = is_being_filled(binding.object) ? binding.object : binding.cell;
        again = is_being_filled(filled);
        if (again)
          lock.wait_for(*filled);
      }
    }
    order_.queue_behind(held, commands, lock);
    held.leaves_events = commands.leaves_events();
    release(rows, held, Release::kNormal, commands, nullptr, lock);
  }
  held.over.clear();
}

void End::drop(const Row& row, Binding& binding, Release release) {
  const bool forced = release == Release::kNormal && row.has(kDelete);
  const auto drop_one = [&](Mapping* mapping, bool counted) {
    if (mapping->infinite && !row.has(kHold))
      return;
    std::int64_t& count = row.has(kHold) ? mapping->holds : mapping->references;
    if (forced)
      count = 0;
    else if (counted && count > 0)
      --count;
  };
  if (Mapping* const object = binding.object.get())
    drop_one(object, row.any(kCounts | kPointer) || object->is_apart());
  // DELETE is about the pointee: the pointer's cell goes by its count.
  if (Mapping* cell = binding.cell.get();
      cell && (row.has(kCounts) || cell->is_apart()) && (!cell->infinite || row.has(kHold)))
    if (std::int64_t& count = row.has(kHold) ? cell->holds : cell->references; count > 0)
      --count;
}

void End::release_position(Rows rows, Held& held, Release how, CommandList& commands, const char* region) {
  {
    Lock lock(table_);
    release(rows, held, how, commands, region, lock);
  }
  held.over.clear();
}

void End::release(Rows rows, Held& held, Release how, CommandList& commands, const char* region, Lock& lock) {
  const auto leaves = [&](const MappingPtr& mapping) {
    return mapping && !mapping->infinite && mapping->references == 0 && mapping->holds == 0 &&
           (mapping->state == Mapping::State::kReady ||
            (mapping->state == Mapping::State::kCreating && mapping->creator == &held.bound));
  };
  for (Binding& binding : held.bound)
    for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
      if (mapping)
        lock.touch(*mapping);
  for (std::size_t i = rows.size(); i-- > 0;)
    if (rows[i].maps())
      drop(rows[i], held.bound[i], how);
  for (Binding& binding : held.bound) {
    for (const MappingPtr& mapping : {std::cref(binding.object), std::cref(binding.cell)})
      if (leaves(mapping)) {
        if (region)
          mapping->make_details().released_by = region;
        held.leaving.push_back(mapping);
        if (held.leaves_events || !mapping->pending(commands.own_end()).empty())
          order_.depart(mapping, held, commands, lock);
        else
          mapping->state = Mapping::State::kLeaving;
      }
    binding.leaving = std::find(held.leaving.begin(), held.leaving.end(), binding.object) != held.leaving.end();
  }
  if (observe::heard()) [[unlikely]]
    report_rows(observe::RowsSeen::Kind::kReleased, memory_.number(), sharing_.any(), rows, held.bound);
}

void End::copy_back(Rows rows, Held& held, Release how, CommandList& commands, const char* region) {
  // Another construct may have ended meanwhile: what it has left to an abandoned region still holds its results.
  const auto holds_results = [&](const MappingPtr& object) {
    return how == Release::kNormal || std::none_of(held.bound.begin(), held.bound.end(), [&](const Binding& one) {
             return one.object == object && one.object_fresh;
           });
  };
  for (std::size_t i = rows.size(); i-- > 0;) {
    const Row& row = rows[i];
    const Binding& binding = held.bound[i];
    const bool wanted = row.maps() && row.has(kFrom) && row.size > 0 &&
                        (binding.leaving ? holds_results(binding.object) : how == Release::kNormal && row.has(kAlways));
    if (wanted && binding.object &&
        !diverged_.fetch(*binding.object, common(range_of(row), binding.object->host), commands))
      die("%s%s%scopying back %s failed%s", region ? "region " : "", region ? region : "", region ? ": " : "",
          describe(*binding.object).c_str(), commands.failure().c_str());
  }
}

void End::finish(Held& held, CommandList& commands, const std::string& failure) {
  commands.set_ended(failure);
  if (!held.leaving.empty()) {
    Lock lock(table_);
    for (const MappingPtr& mapping : held.leaving)
      if (lock.touch(*mapping).state == Mapping::State::kLeaving)
        table_.remove(*mapping, lock);
      else // it has departed
        table_.set_sound(*mapping);
    if (held.departs)
      std::erase_if(table_.departures(lock),
                    [&](const PresentTable::Departure& one) { return one.ended == commands.own_end(); });
  }
  held.leaving.clear();
  for (Binding& binding : held.bound)
    binding.object = binding.cell = nullptr;
  memory_.free_discarded();
}

} // namespace omptool

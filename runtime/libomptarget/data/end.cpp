// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a construct: what nobody refers to any more is copied back and goes.
#include "data/environment.h"

#include "data/announce.h"
#include "data/mapping_fault.h"
#include "data/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"

#include <algorithm>
#include <functional>

namespace omptool {

void DataEnvironment::bind_released(const Row& row, Binding& binding, Lock& lock) {
  binding.object = row.size == 0 ? look_up_empty(row, lock) : find_known(row, range_of(row), lock);
  if (!binding.object && row.has(kPresent) && !shares_host_memory())
    throw absence(row.size == 0 ? HostRange::of(empty_section(row), 0) : range_of(row));
  if (!row.has(kPointer))
    return;
  const Lookup found = look_up(cell_of(row), lock);
  if (found.overlap == Overlap::kWhole && (row.has(kCounts) || lock.touch(*found.mapping).is_apart()))
    binding.cell = found.mapping;
}

void DataEnvironment::end(Rows rows) {
  HostTurn::end();
  Bindings bound(rows.size());
  {
    Lock lock(*this);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].maps())
        continue;
      bind_released(rows[i], bound[i], lock);
      // Another call is still filling it: look again when it is done.
      for (Mapping* mapping : {bound[i].object.get(), bound[i].cell.get()})
        if (mapping && lock.touch(*mapping).state == Mapping::State::kCreating) {
          lock.wait_for(*mapping);
          --i;
          break;
        }
    }
  }
  end(rows, bound, Release::kNormal);
}

void DataEnvironment::drop(const Row& row, Binding& binding, Release release) {
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

void DataEnvironment::end(Rows rows, Bindings& bound, Release release, const char* region) {
  const auto leaves = [](const MappingPtr& mapping) {
    return mapping && !mapping->infinite && mapping->references == 0 && mapping->holds == 0;
  };
  Mappings leaving;
  {
    Lock lock(*this);
    for (Binding& binding : bound)
      for (Mapping* mapping : {binding.object.get(), binding.cell.get()})
        if (mapping)
          lock.touch(*mapping);
    for (std::size_t i = rows.size(); i-- > 0;)
      if (rows[i].maps())
        drop(rows[i], bound[i], release);
    for (Binding& binding : bound) {
      for (const MappingPtr& mapping : {std::cref(binding.object), std::cref(binding.cell)})
        if (leaves(mapping) && mapping->state == Mapping::State::kReady) {
          mapping->state = Mapping::State::kLeaving;
          if (region)
            mapping->make_details().released_by = region;
          leaving.push_back(mapping);
        }
      binding.leaving = std::find(leaving.begin(), leaving.end(), binding.object) != leaving.end();
    }
    if (observe::heard()) [[unlikely]]
      announce_rows(observe::RowsSeen::Kind::kReleased, memory_.number(), shares_host_memory(), rows, bound);
  }
  // Another construct may have ended meanwhile: what it has left to an abandoned region still holds its results.
  const auto holds_results = [&](const MappingPtr& object) {
    return release == Release::kNormal || std::none_of(bound.begin(), bound.end(), [&](const Binding& one) {
             return one.object == object && one.object_fresh;
           });
  };
  for (std::size_t i = rows.size(); i-- > 0;) {
    const Row& row = rows[i];
    const Binding& binding = bound[i];
    const bool wanted =
        row.maps() && row.has(kFrom) && row.size > 0 &&
        (binding.leaving ? holds_results(binding.object) : release == Release::kNormal && row.has(kAlways));
    if (wanted && binding.object && !fetch(*binding.object, common(range_of(row), binding.object->host)))
      die("%s%s%scopying back %s failed%s", region ? "region " : "", region ? region : "", region ? ": " : "",
          describe(*binding.object).c_str(), memory_.last_error().c_str());
  }
  if (leaving.empty())
    return;
  Lock lock(*this);
  for (const MappingPtr& mapping : leaving)
    remove(*mapping, lock);
}

void DataEnvironment::end_in_child(Rows rows, std::span<Mapping* const> objects, const std::string& region) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (objects[i] && !objects[i]->infinite && (rows[i].any(kCounts | kPointer) || objects[i]->is_apart()))
      --(rows[i].has(kHold) ? objects[i]->holds : objects[i]->references);
  for (std::size_t i = rows.size(); i-- > 0;) {
    const Row& row = rows[i];
    const Mapping* const object = objects[i];
    if (!object || !row.maps() || !row.has(kFrom) || row.size <= 0 || object->host_current)
      continue;
    const bool leaving = !object->infinite && object->references <= 0 && object->holds <= 0;
    if ((leaving || row.any(kAlways | kDelete)) && !copy_in_child(*object, common(range_of(row), object->host)))
      die("region %s: copying back %s failed%s", region.c_str(), describe(*object).c_str(),
          memory_.last_error().c_str());
  }
}

} // namespace omptool

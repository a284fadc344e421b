// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `target update`: copies between the two sides of objects that are there.
#pragma once

#include "data/data_step.h"
#include "process/read_only.h"

#include <cstring>

namespace omptool {

class Update : DataStep {
public:
  using DataStep::DataStep;

  // Finds the objects that are there, and takes the position of a construct that copies them.
  void take_position(Rows rows, Held& held, CommandList& commands) {
    const bool is_told = observe::heard();
    const bool is_exact = !commands.leaves_events() && !table_.any_host_current();
    if (is_exact && !is_told && held.all_plain && rows.size() == 1 && move_few(rows.front()))
      return;
    if (!is_exact || !binder_.find_exactly(rows, held, true)) [[unlikely]]
      place_in_order(rows, held, commands);
    if (is_told) [[unlikely]]
      report(Seen::kUpdated, rows, held);
  }
  // Queues the copies. A failure ends the program.
  void copy(Rows rows, Held& held, CommandList& commands) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Binding& binding = held.bound[i];
      // An object that only the host has is not brought up to date.
      if (!binding.object || (binding.host_current && !binding.object->is_usable())) [[unlikely]]
        continue;
      const HostRange there = common(range_of(rows[i]), binding.object->host());
      if (rows[i].has(kTo) && !diverged_.copy(Direction::kToDevice, *binding.object, there, commands)) [[unlikely]]
        fail(Direction::kToDevice, *binding.object, commands);
      if (rows[i].has(kFrom) && !diverged_.copy(Direction::kToHost, *binding.object, there, commands)) [[unlikely]]
        fail(Direction::kToHost, *binding.object, commands);
    }
  }

private:
  // Moves a few bytes while the object is found, so that nothing is left to copy, or to let go of.
  bool move_few(const Row& row) {
    constexpr std::int64_t kFew = 256;
    if (!row.maps() || row.size > kFew || !memory_.moves_itself())
      return false;
    const HostRange range = range_of(row);
    Object* const object = table_.hinted(row);
    return object && object->use(range, row.has(kTo), [&] {
      if (!object->device() || object->has_own_value() || object->has_details()) [[unlikely]]
        return false;
      const std::size_t size = static_cast<std::size_t>(row.size);
      if (row.has(kTo))
        std::memmove(object->at(range.begin), row.begin, size);
      if (row.has(kFrom) && !read_only_memory.hold(range.begin))
        std::memmove(row.begin, object->at(range.begin), size);
      return true;
    });
  }
  [[noreturn]] static void fail(Direction direction, const Object& object, const CommandList& commands);
  void place_in_order(Rows rows, Held& held, CommandList& commands);
};

} // namespace omptool

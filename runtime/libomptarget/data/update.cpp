// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/update.h"

#include "data/report.h"
#include "data/table/row_ranges.h"
#include "observe/sink.h"
#include "process/message.h"

namespace omptool {

void Update::take_position(Rows rows, Held& held, CommandList& commands) {
  if (commands.leaves_events() || table_.any_host_current() || !binder_.find_exactly(rows, held, true)) [[unlikely]]
    place_in_order(rows, held, commands);
  if (observe::heard()) [[unlikely]] {
    PresentTable::Lock lock(table_);
    report_rows(observe::RowsSeen::Kind::kUpdated, memory_.number(), sharing_.any(), rows, held.bound);
  }
}

void Update::place_in_order(Rows rows, Held& held, CommandList& commands) {
  HostFallback::end();
  {
    PresentTable::Lock lock(table_);
    for (bool again = true; again;) {
      again = false;
      binder_.unbind(held, lock);
      order_.wait_until_none_leaves(rows, lock);
      for (std::size_t i = 0; i < rows.size() && !again; ++i)
        again = !binder_.bind_updated(rows[i], held.bound[i], lock); // it has waited
    }
    order_.queue_behind(held, commands, lock);
    held.leaves_events = commands.leaves_events();
    for (std::size_t i = 0; i < rows.size() && held.leaves_events; ++i)
      if (held.bound[i].object)
        order_.leave_event(*held.bound[i].object, rows[i].has(kTo), rows[i].has(kFrom), commands, lock);
  }
}

void Update::copy(Rows rows, Held& held, CommandList& commands) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Binding& binding = held.bound[i];
    // An object that only the host has is not brought up to date.
    if (!binding.object || (binding.host_current && !table_.is_usable(*binding.object)))
      continue;
    const HostRange there = common(range_of(rows[i]), binding.object->host);
    if (rows[i].has(kTo) && !diverged_.send(*binding.object, there, commands))
      die("updating the device's copy of %s failed%s", describe(*binding.object).c_str(), commands.failure().c_str());
    if (rows[i].has(kFrom) && !diverged_.fetch(*binding.object, there, commands))
      die("updating %s from the device failed%s", describe(*binding.object).c_str(), commands.failure().c_str());
  }
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/deferred.h"

#include <algorithm>
#include <utility>

namespace omptool {

void DeferredWork::add(Deferred work) {
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(work));
}

void DeferredWork::run_all(Device& device) {
  for (;;) {
    std::function<void(Device&)> run;
    {
      const std::lock_guard lock(mutex_);
      if (device.deferred_done == all_.size())
        return;
      run = all_[device.deferred_done++].run;
    }
    if (run) // not forgotten
      run(device);
  }
}

void DeferredWork::forget(HostRange object, const std::function<const EntryTable&()>& read,
                          const std::function<bool(const void*)>& is_listed) {
  const std::lock_guard lock(mutex_);
  if (all_.empty())
    return;
  const EntryTable& table = read();
  const auto is_gone = [&](HostRange used) {
    return used.overlaps(object) || std::any_of(table.globals.begin(), table.globals.end(),
                                                [&](HostRange global) { return used.overlaps(global); });
  };
  for (Deferred& work : all_) {
    const auto is_its = [&](const HostEntry& entry) { return entry.address && entry.address == work.host_address; };
    const bool lists_it = std::any_of(table.entries.begin(), table.entries.end(), is_its);
    if ((lists_it && !is_listed(work.host_address)) || std::any_of(work.memory.begin(), work.memory.end(), is_gone))
      work = {};
  }
}

} // namespace omptool

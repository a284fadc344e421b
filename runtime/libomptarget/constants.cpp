// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "constants.h"

#include <algorithm>

namespace omptool {

void Constants::add(const void* descriptor, const std::vector<HostRange>& ranges) {
  const std::lock_guard lock(changing_);
  for (const HostRange& range : ranges) {
    const auto free = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.end == 0; });
    if (free == slots_.end())
      return;
    free->descriptor = descriptor;
    free->begin.store(range.begin, std::memory_order_relaxed);
    free->end.store(range.end, std::memory_order_release);
    const auto needed = static_cast<std::size_t>(free - slots_.begin()) + 1;
    used_.store(std::max(used_.load(std::memory_order_relaxed), needed), std::memory_order_release);
  }
}

void Constants::remove(const void* descriptor) {
  const std::lock_guard lock(changing_);
  for (Slot& slot : slots_)
    if (slot.descriptor == descriptor) {
      slot.end.store(0, std::memory_order_relaxed);
      slot.descriptor = nullptr;
    }
}

} // namespace omptool

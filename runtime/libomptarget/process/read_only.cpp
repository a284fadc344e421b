// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/read_only.h"

namespace omptool {

void ReadOnlyMemory::add(const void* descriptor, const std::vector<HostRange>& ranges) {
  auto range = ranges.begin();
  for (std::size_t i = 0; i < slots_.size() && range != ranges.end(); ++i) {
    Slot& slot = slots_[i];
    const void* taken = nullptr;
    if (!slot.descriptor.compare_exchange_strong(taken, descriptor))
      continue;
    slot.begin.store(range->begin, std::memory_order_relaxed);
    slot.end.store(range->end, std::memory_order_release);
    ++range;
    std::size_t used = used_.load(std::memory_order_relaxed);
    while (used <= i && !used_.compare_exchange_weak(used, i + 1, std::memory_order_release))
      ;
  }
}

void ReadOnlyMemory::remove(const void* descriptor) {
  for (Slot& slot : slots_)
    if (slot.descriptor.load(std::memory_order_relaxed) == descriptor) {
      slot.end.store(0, std::memory_order_relaxed);
      slot.descriptor.store(nullptr, std::memory_order_release);
    }
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the program's libraries that nothing can write to. A region that uses a constant table maps it
// by default as what it reads and writes; the copy back would end the program.
#pragma once

#include "host_range.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

namespace omptool {

// Asked with every such object of every region: no lock. More libraries than there is room for are not known.
class ReadOnlyMemory {
public:
  // Of the library that a descriptor is part of.
  void add(const void* descriptor, const std::vector<HostRange>& ranges) {
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
  void remove(const void* descriptor) {
    for (Slot& slot : slots_)
      if (slot.descriptor.load(std::memory_order_relaxed) == descriptor) {
        slot.end.store(0, std::memory_order_relaxed);
        slot.descriptor.store(nullptr, std::memory_order_release);
      }
  }

  bool hold(std::uintptr_t address) const {
    const std::size_t used = used_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < used; ++i)
      if (address < slots_[i].end.load(std::memory_order_acquire) &&
          address >= slots_[i].begin.load(std::memory_order_relaxed))
        return true;
    return false;
  }

private:
  // Whose `descriptor` is set is taken, and takes part once it has an end.
  struct Slot {
    std::atomic<const void*> descriptor = nullptr;
    std::atomic<std::uintptr_t> begin = 0, end = 0;
  };

  // Without a lock: a child of fork() would wait forever for one that another thread of its parent held.
  std::array<Slot, 64> slots_;
  std::atomic<std::size_t> used_ = 0;
};

inline constinit ReadOnlyMemory read_only_memory;

} // namespace omptool

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
#include <cstdint>
#include <vector>

namespace omptool {

// Asked with every such object of every region: no lock. More libraries than there is room for are not known, nor those
// at addresses of more than 48 bits. A library is opened before a region maps its memory, by the program's own order;
// of libraries that come and go meanwhile, a range is one word, so that nobody reads the begin of one and the end of
// another.
class ReadOnlyMemory {
public:
  // Of the library that a descriptor is part of. The ranges are whole pages.
  void add(const void* descriptor, const std::vector<HostRange>& ranges) {
    auto range = ranges.begin();
    for (std::size_t i = 0; i < slots_.size() && range != ranges.end(); ++i) {
      Slot& slot = slots_[i];
      const void* taken = nullptr;
      if (!slot.descriptor.compare_exchange_strong(taken, descriptor))
        continue;
      slot.pages.store(word_of(*range), std::memory_order_relaxed);
      ++range;
      std::size_t used = used_.load(std::memory_order_relaxed);
      while (used <= i && !used_.compare_exchange_weak(used, i + 1, std::memory_order_relaxed))
        ;
    }
  }
  void remove(const void* descriptor) {
    for (Slot& slot : slots_)
      if (slot.descriptor.load(std::memory_order_relaxed) == descriptor) {
        slot.pages.store(0, std::memory_order_relaxed);
        slot.descriptor.store(nullptr, std::memory_order_release); // who takes the slot next stores after that
      }
  }

  bool hold(std::uintptr_t address) const {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < used; ++i) {
      const std::uint64_t pages = slots_[i].pages.load(std::memory_order_relaxed);
      if ((address >> kPageBits) - (pages >> kCountBits) < (pages & kMostPages))
        return true;
    }
    return false;
  }

private:
  static constexpr unsigned kPageBits = 12, kCountBits = 28; // no system has smaller pages
  static constexpr std::uint64_t kMostPages = (std::uint64_t{1} << kCountBits) - 1;

  // The number of the first page, and how many there are.
  static std::uint64_t word_of(HostRange range) {
    const std::uint64_t first = range.begin >> kPageBits, count = (range.end >> kPageBits) - first;
    return first <= UINT64_MAX >> kCountBits && count <= kMostPages ? first << kCountBits | count : 0;
  }

  // Whose `descriptor` is set is taken, and takes part once it has pages.
  struct Slot {
    std::atomic<const void*> descriptor = nullptr;
    std::atomic<std::uint64_t> pages = 0;
  };

  // Without a lock: a child of fork() would wait forever for one that another thread of its parent held.
  std::array<Slot, 64> slots_;
  std::atomic<std::size_t> used_ = 0;
};

inline constinit ReadOnlyMemory read_only_memory;

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the program's libraries that nothing can write to. A region that uses a constant table maps it
// by default as what it reads and writes; the copy back would end the program.
#pragma once

#include "host_range.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace omptool {

// Read-only memory of loaded objects, queried for every such object of every region, without a lock. Ranges beyond the
// table's capacity are not recorded, nor are those at addresses of more than 48 bits. The program opens a library
// before a region maps its memory. Other libraries may come and go meanwhile, so a range is one word, and no reader
// sees the begin of one and the end of another.
class ReadOnlyMemory {
public:
  // Adds the ranges of one library, which are whole pages.
  void add(const std::vector<HostRange>& ranges) {
    for (const HostRange range : ranges) {
      const std::size_t needed = std::min(replace(0, word_of(range)) + 1, words_.size());
      std::size_t used = used_.load(std::memory_order_relaxed);
      while (used < needed && !used_.compare_exchange_weak(used, needed, std::memory_order_relaxed))
        ;
    }
  }
  void remove(const std::vector<HostRange>& ranges) {
    for (const HostRange range : ranges)
      replace(word_of(range), 0);
  }

  bool hold(std::uintptr_t address) const {
    const std::size_t used = used_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < used; ++i) {
      const std::uint64_t pages = words_[i].load(std::memory_order_relaxed);
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

  // Replaces the first value by the second. Returns its index, or the size if the value is absent.
  std::size_t replace(std::uint64_t before, std::uint64_t after) {
    std::size_t at = 0;
    for (std::uint64_t known = before;
         at < words_.size() && !words_[at].compare_exchange_strong(known, after, std::memory_order_relaxed);
         known = before)
      ++at;
    return at;
  }

  // Words with one range each, or 0. Lock-free, because a child of fork() would wait forever for a lock that another
  // thread of its parent held.
  std::array<std::atomic<std::uint64_t>, 64> words_{};
  std::atomic<std::size_t> used_ = 0;
};

inline constinit ReadOnlyMemory read_only_memory;

} // namespace omptool

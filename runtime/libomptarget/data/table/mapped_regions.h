// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows roughly where anything is mapped at all: counts over regions of memory, read without a lock. Most
// pointers that clang 22 wants attached are variables on a stack, near which nothing is mapped. Who adds or removes
// holds the table's lock.
#pragma once

#include "host_range.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace omptool {

class MappedRegions {
public:
  void add(HostRange range) { count(range, 1); }
  void remove(HostRange range) { count(range, -1); }
  // False: no object holds a byte of it.
  bool may_hold(HostRange range) const {
    if (large_.load(std::memory_order_acquire) != 0 || range.end - range.begin > kSize)
      return true;
    return at(range.begin >> kBits).load(std::memory_order_acquire) != 0 ||
           at((range.end - 1) >> kBits).load(std::memory_order_acquire) != 0;
  }

private:
  static constexpr int kBits = 12;
  static constexpr std::uintptr_t kSize = std::uintptr_t{1} << kBits;
  static constexpr std::uintptr_t kMostRegions = 64; // of an object that is counted in each

  void count(HostRange range, std::int32_t change) {
    const std::uintptr_t first = range.begin >> kBits;
    const std::uintptr_t last = (range.end - 1) >> kBits;
    if (last - first >= kMostRegions)
      add(large_, change);
    for (std::uintptr_t region = first; last - first < kMostRegions && region <= last; ++region)
      add(at(region), change);
  }
  static void add(std::atomic<std::int32_t>& count, std::int32_t change) {
    count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_release);
  }
  std::atomic<std::int32_t>& at(std::uintptr_t region) { return counts_[region % counts_.size()]; }
  const std::atomic<std::int32_t>& at(std::uintptr_t region) const { return counts_[region % counts_.size()]; }

  std::array<std::atomic<std::int32_t>, 16384> counts_{};
  std::atomic<std::int32_t> large_{0}; // objects too large for that
};

} // namespace omptool

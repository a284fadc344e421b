// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of memory, each of which is as large as the program named it: a set that finds the one that contains another.
#pragma once

#include "host_range.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace omptool {

class RangeSet {
public:
  // Returns whether one of the ranges contains this one.
  bool contains(HostRange range) const {
    const auto behind = ends_.upper_bound(range.begin);
    return behind != ends_.begin() && std::prev(behind)->second >= range.end;
  }
  // Takes the place of the ranges that it contains.
  void add(HostRange range) {
    if (contains(range))
      return;
    auto at = ends_.lower_bound(range.begin);
    while (at != ends_.end() && at->second <= range.end)
      at = ends_.erase(at);
    ends_.emplace_hint(at, range.begin, range.end);
  }
  std::vector<HostRange> all() const {
    std::vector<HostRange> ranges;
    for (const auto& [begin, end] : ends_)
      ranges.push_back({begin, end});
    return ranges;
  }

private:
  std::map<std::uintptr_t, std::uintptr_t> ends_; // by where they begin; both ascend, as none contains another
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of structs that the rows of a call map. Each question takes one search: a user-defined mapper may give a
// call thousands of rows.
#pragma once

#include "data/table/row.h"
#include "data/table/row_ranges.h"
#include "host_range.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

namespace omptool {

// A row that only asks where its object is.
inline bool is_lookup(const Row& row) {
  return row.any(kArgument | kReturn) && !row.any(kCounts | kTo | kFrom);
}

inline HostRange place_of(const Row& part) {
  return part.has(kPointer) ? cell_of(part) : range_of(part);
}

// A row that says which part of a struct the program maps.
inline bool is_part(const Row& row) {
  return row.maps() && !row.has(kCounts) && !is_lookup(row);
}

class StructParts {
public:
  explicit StructParts(Rows rows) {
    for (const Row& row : rows)
      if (is_part(row))
        by_begin_.push_back(place_of(row));
    by_end_ = by_begin_;
    const auto ends_before = [](HostRange a, HostRange b) {
      return a.end < b.end || (a.end == b.end && a.begin < b.begin);
    };
    std::sort(by_begin_.begin(), by_begin_.end(), begins_before);
    std::sort(by_end_.begin(), by_end_.end(), ends_before);
    first_end_from_.resize(by_begin_.size());
    std::uintptr_t first = std::numeric_limits<std::uintptr_t>::max();
    for (std::size_t i = by_begin_.size(); i-- > 0;)
      first_end_from_[i] = first = std::min(first, by_begin_[i].end);
  }
  // Tells if a part lies in the range.
  bool any_in(HostRange range) const {
    const std::size_t at = first_from(range.begin);
    return at < by_begin_.size() && first_end_from_[at] <= range.end;
  }
  // Tells if the range's ends are those of the parts in it, as compilers make it. A row that reaches further is an
  // allocation of its own: what lies beside the parts is the device's, too.
  bool bound(HostRange range) const {
    const std::size_t first = first_from(range.begin); // of those that begin there, the shortest
    const auto behind = std::upper_bound(by_end_.begin(), by_end_.end(), range.end,
                                         [](std::uintptr_t end, HostRange part) { return end < part.end; });
    return first < by_begin_.size() && by_begin_[first].begin == range.begin && by_begin_[first].end <= range.end &&
           behind != by_end_.begin() && std::prev(behind)->end == range.end && std::prev(behind)->begin >= range.begin;
  }

private:
  static bool begins_before(HostRange a, HostRange b) {
    return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
  }
  std::size_t first_from(std::uintptr_t begin) const {
    return static_cast<std::size_t>(
        std::lower_bound(by_begin_.begin(), by_begin_.end(), HostRange{begin, 0}, begins_before) - by_begin_.begin());
  }

  std::vector<HostRange> by_begin_, by_end_;
  std::vector<std::uintptr_t> first_end_from_; // of the parts by begin, from each on
};

} // namespace omptool

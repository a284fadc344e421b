// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "slab.h"

#include <algorithm>

namespace omptool::cuda {

std::optional<std::size_t> Slab::take(std::size_t bytes) {
  const std::size_t own = std::max<std::size_t>(bytes, 1), units = units_of(own);
  const std::optional<std::size_t> at = units <= kUnits - top_ ? top_ : find_hole(units);
  if (!at)
    return std::nullopt;
  const auto begin = units_.begin() + static_cast<std::ptrdiff_t>(*at);
  std::fill(begin, begin + static_cast<std::ptrdiff_t>(units), 0U);
  *begin = static_cast<std::uint32_t>(own);
  top_ = std::max(top_, *at + units);
  return *at * kAlignment;
}

std::optional<std::size_t> Slab::find_hole(std::size_t units) {
  if (units > largest_hole_)
    return std::nullopt;
  for (std::size_t at = 0; at < top_;) {
    const std::size_t begin = at;
    while (at < top_ && at - begin < units && units_[at] == kFree)
      ++at;
    if (at - begin == units)
      return begin;
    if (at < top_)
      at += units_of(units_[at]);
  }
  largest_hole_ = units - 1;
  return std::nullopt;
}

bool Slab::give_back(std::size_t piece) {
  const auto begin = units_.begin() + static_cast<std::ptrdiff_t>(piece / kAlignment);
  if (piece % kAlignment != 0 || *begin == kFree || *begin == 0)
    return false;
  std::fill_n(begin, units_of(*begin), kFree);
  while (top_ > 0 && units_[top_ - 1] == kFree)
    --top_;
  largest_hole_ = kUnits;
  return true;
}

bool Slab::are_neighbours(std::size_t end, std::size_t next) const {
  if (end == 0 || end >= next || next >= kSize || next % kAlignment != 0)
    return false;
  std::size_t first = (end - 1) / kAlignment;
  while (first > 0 && units_[first] == 0)
    --first;
  const std::uint32_t own = units_[first];
  return own != kFree && first * kAlignment + own == end && (first + units_of(own)) * kAlignment == next;
}

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/sections.h"

#include <algorithm>

namespace omptool::llvm {
namespace {

constexpr std::uint64_t kTooLarge = UINT64_MAX; // for a distance in memory

// Returns the sum a + b * c, or kTooLarge, which `a` may be.
std::uint64_t sum(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t product = 0, result = 0;
  const bool overflows = __builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &result);
  return overflows || result > INT64_MAX ? kTooLarge : result;
}

// Returns whether offsets count bytes, as they do since clang 23; earlier they count elements. The last dimension is
// {0, E, 1} or {0, 1, E}, for elements of E bytes. With elements of one byte both are equal, and all but the innermost
// offset may be either.
bool counts_bytes(Dimensions dimensions, const std::function<bool()>& by_bytes) {
  const Dimension& element = dimensions.back();
  if (element.offset != 0 || element.stride != 1)
    return false;
  const Dimensions outer = dimensions.first(dimensions.size() - std::min<std::size_t>(dimensions.size(), 2));
  const bool any = std::any_of(outer.begin(), outer.end(), [](const Dimension& one) { return one.offset != 0; });
  return element.count != 1 || (any && by_bytes());
}

// Returns the unit of a dimension: bytes from one element to the next. Clang 22 and before store the program's stride,
// multiplied, in `stride`, and give the element size for the innermost dimension alone, in the last one. The program's
// stride must be 1 for the others.
std::uint64_t unit_of(Dimensions dimensions, std::size_t index) {
  const Dimension& element = dimensions.back();
  const bool innermost = index + 2 == dimensions.size() && element.offset == 0 && element.count == 1;
  return innermost ? element.stride : dimensions[index].stride;
}

} // namespace

std::uint64_t Pieces::offset_of(std::uint64_t number) const {
  std::uint64_t offset = first;
  for (std::size_t i = outer.size(); i-- > 0; number /= outer[i].count)
    offset += number % outer[i].count * outer[i].stride;
  return offset;
}

std::optional<Pieces> pieces_of(Dimensions dimensions, const std::function<bool()>& by_bytes) {
  const bool bytes = counts_bytes(dimensions, by_bytes);
  Pieces pieces{dimensions.first(dimensions.size() - 1)};
  std::uint64_t last = 0; // how far the others reach from where the first piece begins
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const Dimension& dimension = dimensions[i];
    pieces.first = sum(pieces.first, dimension.offset, bytes ? 1 : unit_of(dimensions, i));
    last = sum(last, std::max<std::uint64_t>(dimension.count, 1) - 1, dimension.stride);
  }
  pieces.size = sum(0, dimensions.back().count, dimensions.back().stride);
  if (sum(pieces.first, last, 1) == kTooLarge || pieces.size == kTooLarge)
    return std::nullopt;
  // Dense: pieces touch.
  for (Dimensions& outer = pieces.outer; !outer.empty() && outer.back().stride == pieces.size;
       outer = outer.first(outer.size() - 1)) {
    pieces.size = sum(0, pieces.size, outer.back().count);
    if (pieces.size == kTooLarge)
      return std::nullopt;
  }
  pieces.count = pieces.size > 0 ? 1 : 0;
  for (const Dimension& dimension : pieces.outer) {
    const bool repeats = dimension.stride == 0 && dimension.count > 1; // one piece, again and again
    pieces.count = sum(0, pieces.count, dimension.count);
    if (repeats || pieces.count == kTooLarge)
      return std::nullopt;
  }
  return pieces;
}

} // namespace omptool::llvm

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections of arrays that are not contiguous, as updates name them: by their dimensions, the outermost first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace omptool::llvm {

// Dimension in clang's layout. The last one is a single element.
struct Dimension {
  std::uint64_t offset, count, stride;
};
using Dimensions = std::span<const Dimension>;

// The contiguous pieces of a section, all of one size.
struct Pieces {
  Dimensions outer; // that place them
  std::uint64_t first = 0, size = 0, count = 0;
  std::uint64_t offset_of(std::uint64_t number) const;
};

// Computes the pieces of a section. Returns nothing if they exceed any memory. `by_bytes` decides how offsets count if
// the dimensions do not show it.
std::optional<Pieces> pieces_of(Dimensions dimensions, const std::function<bool()>& by_bytes);

} // namespace omptool::llvm

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notes which parts of a block of memory are in use, as pieces of many sizes. Successive pieces lie one behind the
// other wherever there is room, so that copies of neighbours can go in one transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace omptool::cuda {

class Slab {
public:
  static constexpr std::size_t kSize = std::size_t{1} << 20, kAlignment = 256, kLargestPiece = std::size_t{1} << 15;

  // Allocates a piece of so many bytes, and returns its offset in the block. Returns nothing if there is no room.
  std::optional<std::size_t> take(std::size_t bytes);
  // Frees a piece. Returns false if none begins there.
  bool give_back(std::size_t piece);
  // Returns whether a piece's own bytes end at `end` and the next piece's place begins at `next`. Nobody uses the bytes
  // between.
  bool are_neighbours(std::size_t end, std::size_t next) const;
  bool is_empty() const { return top_ == 0; }

private:
  static constexpr std::size_t kUnits = kSize / kAlignment;
  static std::size_t units_of(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment; }
  std::optional<std::size_t> find_hole(std::size_t units);

  // Sizes by unit: bytes of the piece that begins with the unit, or 0; kFree marks a free unit.
  static constexpr std::uint32_t kFree = UINT32_MAX;
  std::vector<std::uint32_t> units_ = std::vector<std::uint32_t>(kUnits, kFree);
  std::size_t top_ = 0;               // all from here on is free
  std::size_t largest_hole_ = kUnits; // below it there is no larger one, in units
};

} // namespace omptool::cuda

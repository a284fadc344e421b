// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory.h"

#include "common/calls.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

namespace omptool::mpi {

std::uint64_t Memory::allocate(std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (size <= kLargestPiece)
    return piece_of_slab(std::max(kLeastPiece, std::bit_ceil(size)));
  if (size > SIZE_MAX - kPage) {
    fail("no device has " + std::to_string(size) + " bytes");
    return 0;
  }
  return large((size + kPage - 1) / kPage * kPage);
}

std::uint64_t Memory::piece_of_slab(std::size_t piece) {
  std::vector<std::uint64_t>& free = free_[piece];
  if (free.empty()) {
    const std::uint64_t slab = from_worker(kSlab);
    if (slab == 0)
      return 0;
    slabs_.emplace(slab, Slab{piece, std::vector<bool>(kSlab / piece)});
    for (std::size_t at = kSlab; at > 0; at -= piece) // the first is the next
      free.push_back(slab + at - piece);
  }
  const std::uint64_t address = free.back();
  free.pop_back();
  const auto& [begin, slab] = *std::prev(slabs_.upper_bound(address));
  const_cast<Slab&>(slab).is_used[(address - begin) / piece] = true;
  return address;
}

std::uint64_t Memory::large(std::size_t size) {
  std::uint64_t address = 0;
  if (const auto kept = kept_.find(size); kept != kept_.end()) {
    address = kept->second;
    kept_.erase(kept);
    bytes_kept_ -= size;
  } else
    address = from_worker(size);
  if (address != 0)
    large_.emplace(address, size);
  return address;
}

// Allocates from the worker, and if that fails returns the cached memory and tries again.
std::uint64_t Memory::from_worker(std::size_t size) {
  const std::uint64_t address = more_(size);
  return address != 0 || !give_all_back() ? address : more_(size);
}

bool Memory::give_all_back() {
  if (kept_.empty())
    return false;
  for (const auto& [size, address] : kept_)
    give_back_(address);
  kept_.clear();
  bytes_kept_ = 0;
  return true;
}

std::int32_t Memory::release(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  if (const auto found = large_.find(address); found != large_.end()) {
    const std::size_t size = found->second;
    large_.erase(found);
    if (size > kLargestKept || bytes_kept_ + size > kMostKept)
      return give_back_(address);
    kept_.emplace(size, address);
    bytes_kept_ += size;
    return 0;
  }
  const auto after = slabs_.upper_bound(address);
  if (after != slabs_.begin()) {
    auto& [begin, slab] = *std::prev(after);
    const std::size_t index = (address - begin) / slab.piece;
    if (address - begin < kSlab && (address - begin) % slab.piece == 0 && slab.is_used[index]) {
      slab.is_used[index] = false;
      free_[slab.piece].push_back(address);
      return 0;
    }
  }
  return fail("address " + std::to_string(address) + " is not memory that the device has given");
}

} // namespace omptool::mpi

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory.h"

#include "common/calls.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

namespace omptool::cuda {

CUdeviceptr Memory::allocate(std::size_t size) {
  return size > Slab::kLargestPiece ? allocate_block(size) : allocate_piece(size);
}

Outcome Memory::ask_driver(std::size_t size, CUdeviceptr& block) const {
  const Outcome outcome = context_.enter();
  return outcome.ok() ? OMPTOOL_CUDA(context_.driver, cuMemAlloc_v2, &block, size) : outcome;
}

Outcome Memory::return_to_driver(CUdeviceptr block) const {
  const Outcome outcome = context_.enter();
  return outcome.ok() ? OMPTOOL_CUDA(context_.driver, cuMemFree_v2, block) : outcome;
}

std::int32_t Memory::return_all(const Blocks& blocks) const {
  std::int32_t failure = 0;
  for (const Block& block : blocks)
    if (const Outcome outcome = return_to_driver(block.begin); !has_ended(outcome))
      failure = fail_of(context_.driver, outcome, "memory is not released");
  return failure;
}

bool Memory::give_back() {
  Blocks unused;
  {
    const std::lock_guard lock(mutex_);
    unused = take_unused();
  }
  return_all(unused);
  return !unused.empty();
}

// Sizes at most an eighth apart, so that a block is right for others, too.
CUdeviceptr Memory::allocate_block(std::size_t size) {
  constexpr std::size_t kLeastStep = std::size_t{1} << 16;
  const std::size_t step = std::max(std::bit_floor(size) / 8, kLeastStep);
  const bool will_be_kept = size <= kLargestKept;
  const std::size_t bytes = will_be_kept ? (size + step - 1) / step * step : size;
  if (will_be_kept) {
    const std::lock_guard lock(mutex_);
    if (const CUdeviceptr kept = take_kept(bytes))
      return kept;
  }
  CUdeviceptr block = 0;
  const Outcome outcome = context_.taking_memory([&] { return ask_driver(bytes, block); });
  if (!outcome.ok()) {
    fail_of(context_.driver, outcome, "no memory for " + std::to_string(size) + " bytes");
    return 0;
  }
  const std::lock_guard lock(mutex_);
  if (will_be_kept)
    in_use_[block] = bytes;
  return block;
}

CUdeviceptr Memory::take_kept(std::size_t size) {
  const auto at = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Block& one) { return one.size == size; });
  if (at == kept_.rend())
    return 0;
  const Block block = *at;
  kept_.erase(std::next(at).base());
  bytes_kept_ -= block.size;
  in_use_[block.begin] = block.size;
  return block.begin;
}

Memory::Blocks Memory::keep(Block block) {
  kept_.push_back(block);
  bytes_kept_ += block.size;
  auto end = kept_.begin();
  for (; bytes_kept_ > kMostKept || static_cast<std::size_t>(kept_.end() - end) > kMostBlocksKept; ++end)
    bytes_kept_ -= end->size;
  Blocks gone(kept_.begin(), end);
  kept_.erase(kept_.begin(), end);
  return gone;
}

Memory::Blocks Memory::take_unused() {
  Blocks unused = std::exchange(kept_, {});
  bytes_kept_ = 0;
  for (auto slab = slabs_.begin(); slab != slabs_.end();) {
    const auto one = slab++;
    if (!one->second.is_empty())
      continue;
    unused.push_back({one->first, Slab::kSize});
    in_use_.erase(one->first);
    last_ = one == last_ ? slabs_.end() : last_;
    slabs_.erase(one);
  }
  return unused;
}

Memory::Slabs::iterator Memory::slab_with(CUdeviceptr memory) {
  const auto after = slabs_.upper_bound(memory);
  if (after == slabs_.begin() || memory - std::prev(after)->first >= Slab::kSize)
    return slabs_.end();
  return std::prev(after);
}

CUdeviceptr Memory::take_piece(std::size_t size) {
  const auto take_from = [&](Slabs::iterator one) -> CUdeviceptr {
    const std::optional<std::size_t> at = one->second.take(size);
    if (at)
      last_ = one;
    return at ? one->first + *at : 0;
  };
  if (last_ != slabs_.end())
    if (const CUdeviceptr piece = take_from(last_))
      return piece;
  for (auto one = slabs_.begin(); one != slabs_.end(); ++one)
    if (const CUdeviceptr piece = one == last_ ? 0 : take_from(one))
      return piece;
  return 0;
}

CUdeviceptr Memory::allocate_piece(std::size_t size) {
  {
    const std::lock_guard lock(mutex_);
    if (const CUdeviceptr piece = take_piece(size))
      return piece;
  }
  const CUdeviceptr block = allocate_block(Slab::kSize); // without the lock: the driver may take long
  if (!block)
    return 0;
  const std::lock_guard lock(mutex_);
  last_ = slabs_.try_emplace(block).first;
  return take_piece(size);
}

bool Memory::is_in_one_slab(CUdeviceptr begin, std::size_t size) {
  const std::lock_guard lock(mutex_);
  const auto slab = slab_with(begin);
  return slab != slabs_.end() && size <= Slab::kSize - (begin - slab->first);
}

bool Memory::are_neighbours(CUdeviceptr end, CUdeviceptr next) {
  const std::lock_guard lock(mutex_);
  const auto slab = slab_with(next);
  return slab != slabs_.end() && end > slab->first &&
         slab->second.are_neighbours(end - slab->first, next - slab->first);
}

static std::int32_t fail_of_release(CUdeviceptr memory) {
  char text[64];
  std::snprintf(text, sizeof text, "the released memory at 0x%llx is not in use", memory);
  return fail(text);
}

std::int32_t Memory::release(CUdeviceptr memory) {
  if (!memory)
    return 0;
  Blocks gone;
  {
    const std::lock_guard lock(mutex_);
    if (const auto slab = slab_with(memory); slab != slabs_.end())
      return slab->second.give_back(memory - slab->first) ? 0 : fail_of_release(memory);
    if (std::any_of(kept_.begin(), kept_.end(), [&](const Block& one) { return one.begin == memory; }))
      return fail_of_release(memory);
    const auto at = in_use_.find(memory);
    gone = at == in_use_.end() ? Blocks{{memory, 0}} : keep({memory, at->second});
    if (at != in_use_.end())
      in_use_.erase(at);
  }
  return return_all(gone);
}

} // namespace omptool::cuda

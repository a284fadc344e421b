// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory.h"

#include "plugin_calls.h"

#include <iterator>
#include <optional>

namespace omptool::cuda {

Outcome Memory::initialise(CUdevice device, bool has_pools) {
  const Driver& driver = context_.driver;
  if (!has_pools)
    return {"cuMemPoolCreate", CUDA_SUCCESS};
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  Outcome outcome = context_.enter();
  if (outcome.ok() && !stream_)
    outcome = OMPTOOL_CUDA(driver, cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
  // Of our own: what is set for the default one concerns other libraries.
  if (outcome.ok() && !pool_)
    outcome = OMPTOOL_CUDA(driver, cuMemPoolCreate, &pool_, &properties);
  std::uint64_t kept = UINT64_MAX;
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuMemPoolSetAttribute, pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
  return outcome;
}

CUdeviceptr Memory::allocate(std::int64_t size) {
  if (size < 0 || static_cast<std::uint64_t>(size) > SIZE_MAX / 2) {
    fail("a size of " + std::to_string(size) + " bytes");
    return 0;
  }
  const auto bytes = static_cast<std::size_t>(size);
  return bytes > Slab::kLargestPiece ? allocate_block(bytes) : allocate_piece(bytes);
}

CUdeviceptr Memory::allocate_block(std::size_t size) {
  const Driver& driver = context_.driver;
  CUdeviceptr block = 0;
  Outcome outcome{nullptr, CUDA_SUCCESS};
  if (pool_) {
    outcome =
        context_.in_stream([&] { return OMPTOOL_CUDA(driver, cuMemAllocFromPoolAsync, &block, size, pool_, stream_); });
    if (outcome.ok()) // for every stream
      outcome = OMPTOOL_CUDA(driver, cuStreamSynchronize, stream_);
  } else {
    outcome = context_.enter();
    if (outcome.ok())
      outcome = OMPTOOL_CUDA(driver, cuMemAlloc_v2, &block, size);
  }
  if (outcome.ok())
    return block;
  fail_of(driver, outcome, "no memory for " + std::to_string(size) + " bytes");
  return 0;
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

std::int32_t Memory::release(CUdeviceptr memory) {
  if (!memory)
    return 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto slab = slab_with(memory); slab != slabs_.end())
      return slab->second.give_back(memory - slab->first) ? 0 : fail("memory is released that is not in use");
  }
  const Driver& driver = context_.driver;
  Outcome outcome{nullptr, CUDA_SUCCESS};
  if (pool_) {
    outcome = context_.in_stream([&] { return OMPTOOL_CUDA(driver, cuMemFreeAsync, memory, stream_); });
  } else {
    outcome = context_.enter();
    if (outcome.ok())
      outcome = OMPTOOL_CUDA(driver, cuMemFree_v2, memory);
  }
  return has_ended(outcome) ? 0 : fail_of(driver, outcome, "memory is not released");
}

} // namespace omptool::cuda

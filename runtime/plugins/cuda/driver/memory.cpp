// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory.h"

#include "plugin_calls.h"

#include <bit>

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
  const std::size_t bytes = std::max(static_cast<std::size_t>(size), kAlignment);
  return bytes > kLargestPiece
             ? allocate_block(bytes)
             : allocate_piece(static_cast<std::size_t>(std::countr_zero(std::bit_ceil(bytes) / kAlignment)));
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

CUdeviceptr Memory::take_piece(std::size_t number) {
  std::vector<CUdeviceptr>& pieces = free_[number];
  if (pieces.empty())
    return 0;
  const CUdeviceptr piece = pieces.back();
  pieces.pop_back();
  return piece;
}

CUdeviceptr Memory::allocate_piece(std::size_t number) {
  const std::size_t size = kAlignment << number;
  {
    const std::lock_guard lock(mutex_);
    if (const CUdeviceptr piece = take_piece(number))
      return piece;
  }
  const CUdeviceptr run = allocate_block(kRun); // without the lock: the driver may take long
  if (!run)
    return 0;
  const std::lock_guard lock(mutex_);
  std::vector<CUdeviceptr>& pieces = free_[number];
  runs_[run] = number;
  pieces.reserve(runs_.size() * (kRun / size)); // releases find room
  for (CUdeviceptr piece = run + kRun; piece > run; piece -= size)
    pieces.push_back(piece - size);
  return take_piece(number);
}

std::int32_t Memory::release(CUdeviceptr memory) {
  if (!memory)
    return 0;
  {
    const std::lock_guard lock(mutex_);
    const auto after = runs_.upper_bound(memory);
    if (after != runs_.begin() && memory - std::prev(after)->first < kRun) {
      free_[std::prev(after)->second].push_back(memory);
      return 0;
    }
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

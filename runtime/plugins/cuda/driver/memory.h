// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device's memory. Large blocks come from a pool of the driver's, which keeps what is released. Small ones, which
// programs map around each region, are pieces of such blocks: to take and to release one is no call of the driver, and
// those of a construct are neighbours.
#pragma once

#include "context.h"
#include "slab.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace omptool::cuda {

class Memory {
public:
  explicit Memory(const Context& context) : context_(context) {}

  // Once, before anything else. Without pools, as on some virtual GPUs, each block is an allocation of its own.
  Outcome initialise(CUdevice device, bool has_pools);

  // 0, with last_error set: there is none.
  CUdeviceptr allocate(std::int64_t size);
  std::int32_t release(CUdeviceptr memory);

  // Whether one transfer may have all of these bytes, as they are in one block of small pieces.
  bool is_in_one_slab(CUdeviceptr begin, std::size_t size);
  // Whether a small piece ends at `end`, and the next one begins at `next`: what is between is nobody's.
  bool are_neighbours(CUdeviceptr end, CUdeviceptr next);

private:
  using Slabs = std::map<CUdeviceptr, Slab>; // by their beginning
  CUdeviceptr allocate_block(std::size_t size);
  CUdeviceptr allocate_piece(std::size_t size);
  // With the lock held.
  CUdeviceptr take_piece(std::size_t size); // 0: another slab is needed
  Slabs::iterator slab_with(CUdeviceptr memory);

  const Context& context_;
  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr; // of the pool's operations only
  std::mutex mutex_;
  Slabs slabs_;
  Slabs::iterator last_ = slabs_.end(); // which had room
};

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device's memory. Large blocks come from a pool of the driver's, which keeps what is released. Small ones, which
// programs map around each region, are pieces of such blocks: to take and to release one is no call of the driver.
#pragma once

#include "context.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace omptool::cuda {

class Memory {
public:
  explicit Memory(const Context& context) : context_(context) {}

  // Once, before anything else. Without pools, as on some virtual GPUs, each block is an allocation of its own.
  Outcome initialise(CUdevice device, bool has_pools);

  // 0, with last_error set: there is none.
  CUdeviceptr allocate(std::int64_t size);
  std::int32_t release(CUdeviceptr memory);

private:
  static constexpr std::size_t kAlignment = 256, kLargestPiece = 1 << 15, kSizes = 8, kRun = 1 << 20;
  CUdeviceptr allocate_block(std::size_t size);
  CUdeviceptr allocate_piece(std::size_t number); // of kAlignment << number bytes
  CUdeviceptr take_piece(std::size_t number);     // with the lock held; 0: a run is needed

  const Context& context_;
  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr; // of the pool's operations only
  std::mutex mutex_;
  std::array<std::vector<CUdeviceptr>, kSizes> free_;
  std::map<CUdeviceptr, std::size_t> runs_; // by their beginning: the number of the size of their pieces
};

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device's memory, in blocks of the driver's. Programs allocate the same sizes around each region again and again,
// which must not call the driver each time. Released blocks are therefore kept for later requests of the same size, up
// to a bound, and as long as the driver has memory. Small ones are pieces of such blocks; those of a construct are
// neighbours.
#pragma once

#include "context.h"
#include "slab.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace omptool::cuda {

class Memory {
public:
  explicit Memory(const Context& context) : context_(context) {}

  // Allocates device memory. Returns 0, with last_error set, if there is none.
  CUdeviceptr allocate(std::size_t size);
  std::int32_t release(CUdeviceptr memory);

  // Returns all cached memory to the driver. Returns false if there was none.
  bool give_back();

  // Returns whether one transfer may have all of these bytes: they are in one block of small pieces.
  bool is_in_one_slab(CUdeviceptr begin, std::size_t size);
  // Returns whether a small piece ends at `end` and the next one begins at `next`. Nobody uses the bytes between.
  bool are_neighbours(CUdeviceptr end, CUdeviceptr next);

private:
  using Slabs = std::map<CUdeviceptr, Slab>; // by their beginning
  static constexpr std::size_t kLargestKept = std::size_t{64} << 20, kMostKept = std::size_t{256} << 20,
                               kMostBlocksKept = 128;
  struct Block {
    CUdeviceptr begin;
    std::size_t size;
  };
  using Blocks = std::vector<Block>;
  CUdeviceptr allocate_block(std::size_t size);
  CUdeviceptr allocate_piece(std::size_t size);
  Outcome ask_driver(std::size_t size, CUdeviceptr& block) const;
  Outcome return_to_driver(CUdeviceptr block) const;
  std::int32_t return_all(const Blocks& blocks) const;
  // Requires the lock.
  CUdeviceptr take_piece(std::size_t size); // 0: another slab is needed
  Slabs::iterator slab_with(CUdeviceptr memory);
  CUdeviceptr take_kept(std::size_t size); // 0: there is none
  Blocks keep(Block block);                // returns the blocks to free
  Blocks take_unused();                    // all that is kept

  const Context& context_;
  std::mutex mutex_;
  Slabs slabs_;
  Blocks kept_;                               // the oldest first
  std::size_t bytes_kept_ = 0;                //
  std::map<CUdeviceptr, std::size_t> in_use_; // blocks that will be kept
  Slabs::iterator last_ = slabs_.end();       // which had room
};

} // namespace omptool::cuda

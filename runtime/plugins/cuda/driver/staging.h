// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Page-locked memory through which copies go. It is allocated once, in few blocks, and stays.
#pragma once

#include "context.h"

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace omptool::cuda {

class Staging;

// A part of it, for one copy at a time; or none.
class StagingSlot {
public:
  StagingSlot() = default;
  StagingSlot(Staging& staging, std::byte* begin) : staging_(&staging), begin_(begin) {}
  StagingSlot(StagingSlot&& other) noexcept : staging_(other.staging_), begin_(std::exchange(other.begin_, nullptr)) {}
  StagingSlot& operator=(StagingSlot&& other) noexcept {
    std::swap(staging_, other.staging_);
    std::swap(begin_, other.begin_);
    return *this;
  }
  ~StagingSlot();

  explicit operator bool() const { return begin_ != nullptr; }
  std::byte* begin() const { return begin_; }
  // A copy of it may not have ended, and nobody can wait for that: nobody gets the slot any more.
  void abandon() { begin_ = nullptr; }

private:
  Staging* staging_ = nullptr;
  std::byte* begin_ = nullptr;
};

class Staging {
public:
  // Blocks of `slots` of `size` bytes each, of which there are `blocks` at most.
  Staging(const Context& context, std::size_t size, std::size_t slots, std::size_t blocks)
      : size_(size), context_(context), slots_(slots), most_(blocks) {}

  std::size_t slot_size() const { return size_; }
  // None where all are in use and there are enough, or the driver has no such memory: copies go without, then.
  StagingSlot take();
  void give_back(std::byte* slot);
  // Allocates the first block, so that no copy has to.
  void prepare() { take(); }

private:
  const std::size_t size_;
  const Context& context_;
  const std::size_t slots_, most_;
  std::mutex mutex_;
  std::size_t blocks_ = 0;
  std::vector<std::byte*> free_;
};

inline StagingSlot::~StagingSlot() {
  if (begin_)
    staging_->give_back(begin_);
}

} // namespace omptool::cuda

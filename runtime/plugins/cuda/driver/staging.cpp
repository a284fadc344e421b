// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "staging.h"

namespace omptool::cuda {

StagingSlot Staging::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty() && blocks_ < most_) {
    ++blocks_; // one that the driver refuses, too: it is not asked for each copy
    void* made = nullptr;
    Outcome outcome = context_.enter();
    if (outcome.ok())
      outcome = context_.taking_memory([&] {
        return OMPTOOL_CUDA(context_.driver, cuMemHostAlloc, &made, size_ * slots_, CU_MEMHOSTALLOC_PORTABLE);
      });
    if (!outcome.ok())
      return {};
    free_.reserve(blocks_ * slots_); // to give one back finds room
    for (std::size_t i = slots_; i-- > 0;)
      free_.push_back(static_cast<std::byte*>(made) + i * size_);
  }
  if (free_.empty())
    return {};
  std::byte* const slot = free_.back();
  free_.pop_back();
  return {*this, slot};
}

void Staging::give_back(std::byte* slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

} // namespace omptool::cuda

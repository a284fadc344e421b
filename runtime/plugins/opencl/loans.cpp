// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loans.h"

#include "omptarget_rtl.h"

#include <bit>

namespace omptool::opencl {
namespace {

constexpr std::size_t kMostIdle = 16;

} // namespace

// Runs on any thread, and with locks held, so it calls no driver function.
Loan::~Loan() {
  const std::lock_guard lock(loans_.mutex_);
  loans_.idle_.push_back({block_, size_});
}

Loans::Block Loans::reused(std::size_t size, void*& surplus) {
  const std::lock_guard lock(mutex_);
  for (Block& block : idle_)
    if (block.size == size) {
      const Block found = block;
      block = idle_.back();
      idle_.pop_back();
      return found;
    }
  if (idle_.size() > kMostIdle) {
    surplus = idle_.back().at;
    idle_.pop_back();
  }
  return {};
}

std::shared_ptr<Loan> Loans::take(Memory& memory, std::size_t size) {
  size = std::bit_ceil(size);
  void* surplus = nullptr;
  Block block = reused(size, surplus);
  if (surplus)
    memory.release(surplus);
  if (!block.at)
    block = {memory.allocate(size, OMPTARGET_MEMORY_DEVICE), size};
  return block.at ? std::make_shared<Loan>(*this, block.at, size) : nullptr;
}

} // namespace omptool::opencl

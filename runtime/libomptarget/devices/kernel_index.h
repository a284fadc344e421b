// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels by host address: an open-addressing table that is never changed once it is published, so
// that launches look into it without a lock (see threads/hazard_pointers.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace omptool {

struct Kernel;
using Kernels = std::unordered_map<const void*, std::shared_ptr<Kernel>>;

class KernelIndex {
public:
  explicit KernelIndex(const Kernels& kernels)
      : slots_(std::bit_ceil(2 * kernels.size() + 1)), shift_(64 - std::countr_zero(slots_.size())) {
    kernels_.reserve(kernels.size());
    for (const auto& [address, kernel] : kernels) {
      std::size_t at = place_of(address);
      while (slots_[at].kernel)
        at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {address, kernel.get()};
      kernels_.push_back(kernel);
    }
    std::sort(kernels_.begin(), kernels_.end());
  }

  const Kernel* find(const void* address) const {
    for (std::size_t at = place_of(address); slots_[at].kernel; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].address == address)
        return slots_[at].kernel;
    return nullptr;
  }
  // In the order of their addresses.
  const std::vector<std::shared_ptr<Kernel>>& kernels() const { return kernels_; }

private:
  struct Slot {
    const void* address = nullptr;
    const Kernel* kernel = nullptr; // null: free
  };
  // Fibonacci hashing (Knuth, volume 3, 6.4): addresses of neighbours come in even steps.
  std::size_t place_of(const void* address) const {
    const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15ULL;
    return shift_ == 64 ? 0 : static_cast<std::size_t>(hash >> shift_);
  }

  std::vector<Slot> slots_; // at most half full
  int shift_;
  std::vector<std::shared_ptr<Kernel>> kernels_;
};

} // namespace omptool

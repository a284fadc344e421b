// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/allocations.h"

#include <iterator>

namespace omptool {

void* Allocations::allocate(std::size_t size) {
  void* const memory = memory_.allocate(static_cast<std::int64_t>(size));
  if (memory && !memory_.is_addressable()) {
    const std::lock_guard lock(mutex_);
    sizes_[reinterpret_cast<std::uintptr_t>(memory)] = size;
  }
  return memory;
}

bool Allocations::release(void* memory) {
  {
    const std::lock_guard lock(mutex_);
    sizes_.erase(reinterpret_cast<std::uintptr_t>(memory));
  }
  return memory_.free(memory);
}

bool Allocations::hold(std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  const auto after = sizes_.upper_bound(address);
  return after != sizes_.begin() && address - std::prev(after)->first < std::prev(after)->second;
}

} // namespace omptool

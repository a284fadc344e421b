// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <cstddef>
#include <dlfcn.h>

namespace omptool::check {

using AllocatedAt = std::size_t(const void*);
inline constinit std::atomic<AllocatedAt*> heaps_allocated_at{nullptr};

// Called once, without a lock: it asks the dynamic linker.
inline void find_heap() {
  heaps_allocated_at = reinterpret_cast<AllocatedAt*>(::dlsym(RTLD_DEFAULT, "omptool_allocated_at"));
}

// Returns how many bytes the program has asked of malloc at `block`; 0: it is no such block, or libomptool_heap.so,
// which `omptool run --check` preloads, is not there.
inline std::size_t allocated_at(const void* block) {
  AllocatedAt* const asks = heaps_allocated_at.load(std::memory_order_relaxed);
  return asks ? asks(block) : 0;
}

} // namespace omptool::check

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <dlfcn.h>

namespace omptool::check {

// Returns how many bytes the program has asked of malloc at `block`; 0: it is no such block, or libomptool_heap.so,
// which `omptool run --check` preloads, is not there.
inline std::size_t allocated_at(const void* block) {
  using Asks = std::size_t (*)(const void*);
  static const auto asks = reinterpret_cast<Asks>(::dlsym(RTLD_DEFAULT, "omptool_allocated_at"));
  return asks ? asks(block) : 0;
}

} // namespace omptool::check

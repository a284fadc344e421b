// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocates memory in pieces that are aligned to cache lines and close together. Small pieces, whose number follows
// what programs map, come from free lists by size, one list for each thread.
#pragma once

#include "large_blocks.h"

#include <cstddef>
#include <new>

namespace omptool::small_blocks {

constexpr std::size_t kAlignment = large_blocks::kAlignment;

// Allocates memory, or returns null. A size of 0 counts as 1.
void* allocate(std::size_t size);
void release(void* memory);

// Base class: objects of derived classes are allocated as such pieces.
struct Allocated {
  static void* operator new(std::size_t size) {
    void* const memory = allocate(size);
    return memory ? memory : throw std::bad_alloc();
  }
  static void operator delete(void* memory) { release(memory); }
};

} // namespace omptool::small_blocks

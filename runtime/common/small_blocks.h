// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory in pieces that are aligned to cache lines and lie close together. Small ones, which come and go with what
// programs map, are taken from lists of free pieces of their size, one list for each thread.
#pragma once

#include "large_blocks.h"

#include <cstddef>
#include <new>

namespace omptool::small_blocks {

constexpr std::size_t kAlignment = large_blocks::kAlignment;

// Null when there is none. A size of 0 is one of 1.
void* allocate(std::size_t size);
void release(void* memory);

// Objects of classes derived from this one are such pieces.
struct Allocated {
  static void* operator new(std::size_t size) {
    void* const memory = allocate(size);
    return memory ? memory : throw std::bad_alloc();
  }
  static void operator delete(void* memory) { release(memory); }
};

} // namespace omptool::small_blocks

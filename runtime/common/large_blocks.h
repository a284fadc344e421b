// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocates large objects, each in a block of its own, aligned to a cache line.
//
// Very large blocks lie in huge pages where the system grants them on request. They start in other lines of a page than
// their neighbours: a loop over several objects then uses different cache sets, and loads do not falsely depend on
// stores to another object. Some released blocks are kept, because many programs map and unmap the same arrays around
// each region, and zeroed pages of the system cost more than the copies.
#pragma once

#include <cstddef>

namespace omptool::large_blocks {

constexpr std::size_t kAlignment = 64; // a cache line, and enough for vector instructions

// Allocates memory, or returns null. A size of 0 counts as 1.
void* allocate(std::size_t size);
void release(void* memory);

} // namespace omptool::large_blocks

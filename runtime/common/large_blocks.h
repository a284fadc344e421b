// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for large objects, each in a block of its own, aligned to a cache line.
//
// Very large ones lie in huge pages where the system has them for those who ask. They begin in other lines of a page
// than their neighbours: a loop that goes through some of them at once then finds them in different sets of the caches,
// and no store seems to be what a load of another one waits for. Some of those that are released are kept: to map and
// unmap the same arrays around each region is common, and the system's zeroed pages cost more than the copies.
#pragma once

#include <cstddef>

namespace omptool::large_blocks {

constexpr std::size_t kAlignment = 64; // a cache line, and what vector instructions ask for

// Null when there is none. A size of 0 is one of 1.
void* allocate(std::size_t size);
void release(void* memory);

} // namespace omptool::large_blocks

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the CPU as a device: aligned to cache lines. Small pieces, which programs map and unmap again
// and again, come from lists of free pieces of their size, one list for each thread.
#pragma once

#include <cstddef>

namespace omptool::host {

constexpr std::size_t kAlignment = 64; // a cache line, and what vector instructions ask for

// Null when there is none. A size of 0 is one of 1.
void* allocate(std::size_t size);
void release(void* memory);

// Around fork(): the child finds the lists whole, and nobody's lock held.
void hold_for_fork();
void go_on_after_fork();

} // namespace omptool::host

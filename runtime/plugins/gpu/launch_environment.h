// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that a launch lends to a kernel of clang's: a record of its launch, room for reductions, and memory in place
// of the teams' own.
#pragma once

#include "gpu/clang_kernel.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace omptool::gpu {

// The memory of each team's own that a program asks for, and what the kernel gets if there is too little of it.
struct MemoryPromise {
  std::uint32_t size = 0;    // bytes
  std::uint8_t fallback = 0; // as LaunchEnvironment23 has it
};

// Loan: the sizes of the parts of one block of device memory, in this order. All 0: the kernel needs none.
struct Loan {
  std::uint64_t environment, buffer, memory;
  std::uint64_t size() const { return environment + buffer + memory; }
};
Loan loan_of(const ClangKernel& clang, const Grid& grid, const MemoryPromise& memory);

// Nothing-lent argument, for a kernel that gets no memory.
constexpr std::uint64_t kNothingLent = ~std::uint64_t{0};

// Record at the start of the block, computed when the block's address is known.
struct LaunchRecord {
  std::array<std::byte, 40> bytes;
  std::size_t size;
};
LaunchRecord record_of(const ClangKernel& clang, const Loan& loan, const MemoryPromise& memory, std::uint64_t address);

// Returns the grid of a kernel of clang's that may do without the memory that it asks for, or with other memory.
std::optional<Grid> grid_for(const std::optional<ClangKernel>& clang, const ClangSettings& settings,
                             const tgt_launch_shape& asked, const KernelFacts& facts, const DeviceLimits& device,
                             MemoryPromise& memory);

// Places the word for the environment where the kernel expects it. The call may have that word elsewhere, or lack it.
void place_environment(ClangKernel::Environment place, std::uint32_t flags, std::vector<void*>& values);

} // namespace omptool::gpu

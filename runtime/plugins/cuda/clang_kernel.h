// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that clang's OpenMP made for nvptx, versions 14 to 22: what they say of themselves, and the blocks and
// threads that they expect. The rules are those of LLVM's plugin, so that such a kernel runs here in the shape that it
// was tested in.
#pragma once

#include "shape.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace omptool::cuda {

// Of clang 18 and later; what the compiler stores in the image as <kernel>_kernel_environment begins so.
struct KernelEnvironment {
  std::uint8_t generic_state_machine;
  std::uint8_t nested_parallelism;
  std::uint8_t mode;
  std::int32_t least_threads, most_threads;
  std::int32_t least_teams, most_teams;
  std::int32_t reduction_size;   // bytes that a team stores
  std::int32_t reduction_length; // teams that find room at once
};
constexpr std::size_t kKernelEnvironment = 48; // with two addresses behind it

// What a launch with a reduction lends the kernel.
struct LaunchEnvironment {
  std::uint32_t count, iteration;
  std::uint64_t buffer; // an address of the device
};

struct ClangKernel {
  enum Mode : std::uint8_t { kBare = 0, kGeneric = 1, kSpmd = 2, kGenericSpmd = 3, kSpmdNoLoop = 6 };
  Mode mode = kBare;              // bare: the shape is taken as it is, as for portable kernels
  bool takes_environment = false; // as its first argument
  std::uint32_t least_threads = 0, most_threads = 0;
  std::uint64_t reduction_size = 0; // bytes for all teams
};
const char* name_of(ClangKernel::Mode mode); // as LLVM's plugin says it
ClangKernel clang_kernel_of(const KernelEnvironment& environment);
ClangKernel clang_kernel_of(std::uint8_t mode); // of clang 14 to 17: <kernel>_exec_mode

// What programs set for LLVM's plugin.
struct ClangSettings {
  std::uint64_t teams = 3200; // where neither the program nor the loop says how many
  std::uint64_t least_threads = 32;
  bool reuses_teams = true;
  std::uint64_t memory = 0; // of each team's own, at least
};

// Nothing, with last_error set, where the device lacks what is asked for.
std::optional<Grid> grid_of(const ClangKernel& clang, const ClangSettings& settings, const tgt_launch_shape& asked,
                            const KernelFacts& kernel, const DeviceLimits& device);

} // namespace omptool::cuda

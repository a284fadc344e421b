// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels by OpenMP of clang 14 to 23 for nvptx: their records in the image, and the numbers of blocks and threads that
// they expect. The rules are those of LLVM's plugin, so a kernel runs here in the shape that it was tested in.
#pragma once

#include "gpu/shape.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace omptool::gpu {

// Kernel environment of clang 18 and later: the prefix of the constant <kernel>_kernel_environment in the image.
struct KernelEnvironment {
  std::uint8_t generic_state_machine;
  std::uint8_t nested_parallelism;
  std::uint8_t mode;
  std::int32_t least_threads, most_threads;
  std::int32_t least_teams, most_teams;
  std::int32_t reduction_size;   // bytes that a team stores
  std::int32_t reduction_length; // teams that find room at once; only until clang 22
};

// A launch with a reduction lends this record to the kernel, until clang 22.
struct LaunchEnvironment18 {
  std::uint32_t count, iteration;
  std::uint64_t buffer; // an address of the device
};
// Launch environment since clang 23: adds memory for each team.
struct LaunchEnvironment23 {
  std::uint64_t buffer;          // room for each team of the launch
  std::uint64_t fallback_memory; // in place of the teams' own, or 0
  std::uint32_t teams_done;
  std::uint32_t memory_size;    // of a team
  std::uint8_t memory_fallback; // 0: it is the team's own; 1: there is none; 2: it is at fallback_memory
  std::uint8_t unused[7] = {};  // no byte of this process's stack goes to the device
};

struct ClangKernel {
  enum Mode : std::uint8_t { kBare = 0, kGeneric = 1, kSpmd = 2, kGenericSpmd = 3, kSpmdNoLoop = 6 };
  Mode mode = kBare; // bare: the shape of the call is used as it is, as for portable kernels
  enum class Environment : std::uint8_t { kNone, kFirst, kLast }; // of a launch, among the arguments
  Environment environment = Environment::kNone;
  std::size_t unknown_environment = 0; // bytes of the kernel's own record, if no known clang has that size
  std::uint32_t least_threads = 0, most_threads = 0;
  std::uint64_t reduction_size = 0;      // bytes, for all teams
  std::uint64_t team_reduction_size = 0; // and for each
};
const char* name_of(ClangKernel::Mode mode); // in the words of LLVM's plugin
// Reads a clang kernel's record. `size` is that of the whole record, which shows its version. Sets only
// unknown_environment for an unknown size.
ClangKernel clang_kernel_of(const KernelEnvironment& environment, std::size_t size);
ClangKernel clang_kernel_of(std::uint8_t mode); // of clang 14 to 17: <kernel>_exec_mode

// Settings that programs make for LLVM's plugin.
struct ClangSettings {
  std::uint64_t teams = 3200; // default where neither program nor loop sets a number
  std::uint64_t least_threads = 32;
  bool reuses_teams = true;
  std::uint64_t memory = 0; // of each team's own, at least
};

// Computes the grid. Returns nothing, with last_error set, if the device cannot launch what the call asks for.
std::optional<Grid> grid_of(const ClangKernel& clang, const ClangSettings& settings, const tgt_launch_shape& asked,
                            const KernelFacts& kernel, const DeviceLimits& device);

} // namespace omptool::gpu

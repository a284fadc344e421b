// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Teams and threads of a launch: blocks of a grid.
#pragma once

#include "omptarget_rtl.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace omptool::gpu {

struct DeviceLimits {
  int most_threads = 0; // of a block
  int most_memory = 0;  // of each block's own, in bytes
  int warp = 0;
  int units = 0;
  int threads_of_unit = 0;
  bool cooperates = false; // blocks may wait for each other
};

// Kernel facts from the driver. The plugin queries them at the kernel's first launch, because programs have many
// kernels that they never run.
struct KernelFacts {
  int most_threads = 0;       // of a block
  int memory = 0;             // of each block's own, in bytes
  std::size_t parameters = 0; // bytes
  bool parameters_are_known = false;
  int blocks = 1, threads = 1; // default where the program sets neither
};

struct Grid {
  std::array<unsigned, 3> blocks{1, 1, 1};
  std::array<unsigned, 3> threads{1, 1, 1};
  unsigned memory = 0; // dynamic, of each block's own, in bytes
  bool cooperates = false;
};

// Returns the grid of a portable kernel, which runs in the requested shape or not at all: then nothing, with last_error
// set.
std::optional<Grid> grid_of(const tgt_launch_shape& asked, const KernelFacts& kernel, const DeviceLimits& device);

} // namespace omptool::gpu

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/shape.h"

#include "common/calls.h"

#include <algorithm>
#include <string>

namespace omptool::gpu {
namespace {

constexpr unsigned kMostBlocks[] = {INT32_MAX, 65535, 65535};

std::optional<Grid> no_grid(const std::string& reason) {
  fail(reason);
  return std::nullopt;
}

} // namespace

std::optional<Grid> grid_of(const tgt_launch_shape& asked, const KernelFacts& kernel, const DeviceLimits& device) {
  Grid grid;
  const unsigned chosen_blocks = static_cast<unsigned>(std::max(kernel.blocks, 1));
  const unsigned chosen_threads = static_cast<unsigned>(std::max(kernel.threads, 1));
  grid.blocks[0] = asked.teams[0] ? asked.teams[0] : chosen_blocks;
  grid.threads[0] = asked.threads[0] ? asked.threads[0] : chosen_threads;
  for (std::size_t i = 1; i < 3; ++i) {
    grid.blocks[i] = std::max(asked.teams[i], 1U);
    grid.threads[i] = std::max(asked.threads[i], 1U);
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (grid.blocks[i] > kMostBlocks[i])
      return no_grid("the launch asks for " + std::to_string(grid.blocks[i]) + " teams; " +
                     std::to_string(kMostBlocks[i]) + " are the most");
  const auto threads = static_cast<unsigned __int128>(grid.threads[0]) * grid.threads[1] * grid.threads[2];
  const int most = std::min(device.most_threads, kernel.most_threads);
  if (threads > static_cast<unsigned>(most))
    return no_grid(
        "the launch asks for teams of " +
        (threads > INT32_MAX ? "more than 2147483647" : std::to_string(static_cast<std::uint64_t>(threads))) +
        " threads; the kernel allows " + std::to_string(most));
  const auto room = static_cast<std::uint64_t>(std::max(device.most_memory - kernel.memory, 0));
  if (asked.dynamic_memory > room)
    return no_grid("the launch asks for " + std::to_string(asked.dynamic_memory) +
                   " bytes of each team's own memory; the GPU has " + std::to_string(room));
  grid.memory = static_cast<unsigned>(asked.dynamic_memory);
  grid.cooperates = asked.flags & OMPTARGET_SHAPE_COOPERATIVE;
  if (grid.cooperates && !device.cooperates)
    return no_grid("the launch asks for teams that wait for each other, which this GPU does not have");
  return grid;
}

} // namespace omptool::gpu

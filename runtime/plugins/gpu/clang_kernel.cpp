// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/clang_kernel.h"

#include "generations.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace omptool::gpu {
namespace {

constexpr std::uint64_t kMostTeams = 65536;
constexpr std::uint32_t kUsualThreads = 128;

std::uint64_t rounds(std::uint64_t trips, std::uint64_t at_once) {
  return (trips - 1) / at_once + 1;
}

std::uint32_t threads_of(const ClangKernel& clang, std::uint32_t asked, std::uint32_t most, int warp) {
  if (asked == 0)
    return std::min(std::max(clang.least_threads, kUsualThreads), most);
  // A generic kernel's first thread has a warp of its own.
  const std::uint64_t own = clang.mode == ClangKernel::kGeneric ? static_cast<std::uint64_t>(warp) : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(asked + own, most));
}

// Teams for a loop that teams and threads share. Short loops get fewer threads for each team, so that there are more
// teams.
std::uint64_t teams_for_spmd(std::uint64_t trips, const ClangSettings& settings, bool is_asked,
                             std::uint32_t& threads) {
  const std::uint64_t few = std::min<std::uint64_t>(threads, settings.least_threads);
  if (!is_asked && trips < settings.teams * threads)
    threads =
        static_cast<std::uint32_t>(trips >= settings.teams * settings.least_threads
                                       ? std::min<std::uint64_t>(threads, std::bit_ceil(rounds(trips, settings.teams)))
                                       : few);
  return rounds(trips, threads);
}

std::uint64_t teams_of(const ClangKernel& clang, const ClangSettings& settings, const tgt_launch_shape& asked,
                       std::uint32_t& threads) {
  if (asked.teams[0])
    return std::min<std::uint64_t>(asked.teams[0], kMostTeams);
  const std::uint64_t trips = asked.trip_count;
  if (clang.mode == ClangKernel::kSpmdNoLoop && trips)
    return std::min<std::uint64_t>(rounds(trips, threads), INT32_MAX);
  if (trips == 0)
    return std::min(settings.teams, kMostTeams);
  std::uint64_t teams =
      clang.mode == ClangKernel::kSpmd ? teams_for_spmd(trips, settings, asked.threads[0] != 0, threads) : trips;
  if (settings.reuses_teams)
    teams = std::min(teams, settings.teams);
  return std::min(teams, kMostTeams);
}

ClangKernel::Mode mode_of(std::uint8_t mode) {
  return mode <= ClangKernel::kGenericSpmd || mode == ClangKernel::kSpmdNoLoop ? static_cast<ClangKernel::Mode>(mode)
                                                                               : ClangKernel::kBare;
}

std::uint32_t positive(std::int32_t number) {
  return static_cast<std::uint32_t>(std::max(number, 0));
}

} // namespace

const char* name_of(ClangKernel::Mode mode) {
  switch (mode) {
  case ClangKernel::kGeneric:
    return "Generic";
  case ClangKernel::kSpmd:
    return "SPMD";
  case ClangKernel::kGenericSpmd:
    return "Generic-SPMD";
  case ClangKernel::kSpmdNoLoop:
    return "SPMD-No-Loop";
  case ClangKernel::kBare:
    break;
  }
  return "Bare";
}

ClangKernel clang_kernel_of(const KernelEnvironment& environment, std::size_t size) {
  ClangKernel clang;
  const Generation* const generation =
      std::find_if(std::begin(kGenerations), std::end(kGenerations),
                   [&](const Generation& one) { return size > 0 && one.kernel_environment == size; });
  if (generation == std::end(kGenerations)) {
    clang.unknown_environment = size;
    return clang;
  }
  clang.mode = mode_of(environment.mode);
  clang.least_threads = positive(environment.least_threads);
  clang.most_threads = positive(environment.most_threads);
  const std::uint64_t bytes = positive(environment.reduction_size);
  if (generation->launch_environment == sizeof(LaunchEnvironment23)) {
    clang.environment = ClangKernel::Environment::kLast;
    clang.team_reduction_size = bytes;
  } else {
    clang.environment = ClangKernel::Environment::kFirst;
    clang.reduction_size = bytes * positive(environment.reduction_length);
  }
  return clang;
}

ClangKernel clang_kernel_of(std::uint8_t mode) {
  ClangKernel clang;
  clang.mode = mode_of(mode);
  return clang;
}

std::optional<Grid> grid_of(const ClangKernel& clang, const ClangSettings& settings, const tgt_launch_shape& asked,
                            const KernelFacts& kernel, const DeviceLimits& device) {
  tgt_launch_shape shape = asked;
  shape.dynamic_memory = std::max(asked.dynamic_memory, settings.memory);
  if (clang.mode == ClangKernel::kBare)
    return grid_of(shape, kernel, device);
  std::uint32_t most = static_cast<std::uint32_t>(std::max(std::min(kernel.most_threads, device.most_threads), 1));
  if (clang.most_threads)
    most = std::min(most, clang.most_threads);
  std::uint32_t threads = threads_of(clang, asked.threads[0], most, device.warp);
  shape.teams[0] = static_cast<std::uint32_t>(teams_of(clang, settings, asked, threads));
  shape.threads[0] = threads;
  for (std::size_t i = 1; i < 3; ++i)
    shape.teams[i] = shape.threads[i] = 1;
  return grid_of(shape, kernel, device);
}

} // namespace omptool::gpu

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks and threads of clang's kernels: those that LLVM 19's plugin gives them.
#include "gpu/clang_kernel.h"

#include <doctest/doctest.h>

using namespace omptool::gpu;

namespace {

const DeviceLimits kDevice{
    .most_threads = 1024, .most_memory = 100'000, .warp = 32, .units = 4, .threads_of_unit = 2048, .cooperates = false};
const KernelFacts kKernel{
    .most_threads = 1024, .memory = 0, .parameters = 0, .parameters_are_known = true, .blocks = 8, .threads = 512};

struct Case {
  ClangKernel::Mode mode;
  std::uint32_t teams, threads;
  std::uint64_t trips;
  unsigned blocks_wanted, threads_wanted;
};

Grid grid_for(const ClangKernel& clang, const ClangSettings& settings, std::uint32_t teams, std::uint32_t threads,
              std::uint64_t trips) {
  tgt_launch_shape shape{};
  shape.size = sizeof shape;
  shape.teams[0] = teams;
  shape.threads[0] = threads;
  shape.trip_count = trips;
  const std::optional<Grid> grid = grid_of(clang, settings, shape, kKernel, kDevice);
  REQUIRE(grid);
  return *grid;
}

} // namespace

TEST_CASE("a kernel of clang's runs in the shape that LLVM's plugin gives it") {
  constexpr ClangKernel::Mode kGeneric = ClangKernel::kGeneric, kSpmd = ClangKernel::kSpmd,
                              kBoth = ClangKernel::kGenericSpmd, kNoLoop = ClangKernel::kSpmdNoLoop;
  for (const Case& each : {
           Case{kSpmd, 7, 64, 0, 7, 64},              // as the program says
           Case{kSpmd, 100'000, 64, 0, 65536, 64},    // but no more than there are
           Case{kSpmd, 0, 4000, 1, 1, 1024},          //
           Case{kGeneric, 1, 64, 0, 1, 96},           // with a warp for the first thread
           Case{kGeneric, 1, 1024, 0, 1, 1024},       //
           Case{kGeneric, 1, 0, 0, 1, 128},           //
           Case{kSpmd, 0, 0, 0, 3200, 128},           // nothing is known of the loop
           Case{kSpmd, 0, 0, 1000, 32, 32},           // a short one: few threads in more teams
           Case{kSpmd, 0, 0, 3200 * 40, 2000, 64},    // enough for all teams of fewer threads
           Case{kSpmd, 0, 0, 3200 * 128, 3200, 128},  //
           Case{kSpmd, 0, 0, 100'000'000, 3200, 128}, // teams are reused
           Case{kSpmd, 0, 256, 1000, 4, 256},         // the program's threads stay
           Case{kGeneric, 0, 0, 50, 50, 128},         // a team for each round
           Case{kBoth, 0, 0, 5000, 3200, 128},        //
           Case{kNoLoop, 0, 0, 1'000'000, 7813, 128}, // each thread has one round
       }) {
    CAPTURE(each.mode);
    CAPTURE(each.teams);
    CAPTURE(each.threads);
    CAPTURE(each.trips);
    const Grid grid = grid_for({.mode = each.mode}, {}, each.teams, each.threads, each.trips);
    CHECK(grid.blocks[0] == each.blocks_wanted);
    CHECK(grid.threads[0] == each.threads_wanted);
  }
}

TEST_CASE("a kernel's own limits, and what the program sets for LLVM's plugin, are kept to") {
  CHECK(grid_for({.mode = ClangKernel::kSpmd, .most_threads = 96}, {}, 2, 512, 0).threads[0] == 96);
  CHECK(grid_for({.mode = ClangKernel::kSpmd, .least_threads = 256}, {}, 2, 0, 0).threads[0] == 256);
  CHECK(grid_for({.mode = ClangKernel::kSpmd}, {.teams = 10}, 0, 0, 0).blocks[0] == 10);
  CHECK(grid_for({.mode = ClangKernel::kSpmd}, {.reuses_teams = false}, 0, 0, 3200 * 256).blocks[0] == 6400);
  CHECK(grid_for({.mode = ClangKernel::kSpmd}, {.memory = 5000}, 1, 1, 0).memory == 5000);
}

TEST_CASE("a bare kernel is taken as it is") {
  tgt_launch_shape shape{};
  shape.size = sizeof shape;
  for (std::size_t i = 0; i < 3; ++i)
    shape.teams[i] = shape.threads[i] = 2 + static_cast<std::uint32_t>(i);
  const std::optional<Grid> grid = grid_of(ClangKernel{}, {}, shape, kKernel, kDevice);
  REQUIRE(grid);
  CHECK(grid->blocks == std::array<unsigned, 3>{2, 3, 4});
  CHECK(grid->threads == std::array<unsigned, 3>{2, 3, 4});
}

TEST_CASE("environments may hold anything") {
  using Place = ClangKernel::Environment;
  CHECK(clang_kernel_of(KernelEnvironment{0, 0, 77, -1, -5, 0, 0, -8, 4}, 48).mode == ClangKernel::kBare);
  CHECK(clang_kernel_of(KernelEnvironment{0, 0, 2, -1, -5, 0, 0, -8, 4}, 48).reduction_size == 0);
  const KernelEnvironment sound{0, 0, 2, 1, 64, 0, 0, 8, 1024};
  CHECK(clang_kernel_of(sound, 48).reduction_size == 8192);
  CHECK(clang_kernel_of(sound, 48).environment == Place::kFirst);
  CHECK(clang_kernel_of(sound, 40).reduction_size == 0);
  CHECK(clang_kernel_of(sound, 40).team_reduction_size == 8);
  CHECK(clang_kernel_of(sound, 40).environment == Place::kLast);
  for (const std::size_t size : {8U, 32U, 41U, 56U}) {
    CHECK(clang_kernel_of(sound, size).unknown_environment == size);
    CHECK(clang_kernel_of(sound, size).environment == Place::kNone);
  }
  CHECK(clang_kernel_of(std::uint8_t{1}).environment == Place::kNone);
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel.h"

#include "common/calls.h"
#include "common/launch_line.h"
#include "common/launch_shape.h"
#include "generations.h"
#include "gpu/settings.h"

#include <algorithm>
#include <iterator>

namespace omptool::liboffload {
namespace {

using gpu::ClangKernel;
using Place = ClangKernel::Environment;

gpu::DeviceLimits limits_of(const Found& found) {
  constexpr std::uint32_t kUsualThreads = 1024;
  constexpr std::uint64_t kUsualMemory = 64U << 10;
  gpu::DeviceLimits limits;
  limits.most_threads = static_cast<int>(std::min(found.most_threads ? found.most_threads : kUsualThreads, 1U << 20));
  limits.most_memory =
      static_cast<int>(std::min<std::uint64_t>(found.team_memory ? found.team_memory : kUsualMemory, 1U << 30));
  limits.warp = found.warp;
  limits.units = static_cast<int>(found.units);
  return limits;
}

// Returns the facts that the interface offers. It does not offer a kernel's own limits; the library refuses launches
// beyond them.
gpu::KernelFacts facts_of(const Found& found) {
  constexpr int kTeamsOfUnit = 4, kThreads = 128;
  gpu::KernelFacts facts;
  facts.most_threads = limits_of(found).most_threads;
  facts.blocks = std::max(kTeamsOfUnit * static_cast<int>(found.units), 1);
  facts.threads = std::min(kThreads, facts.most_threads);
  return facts;
}

void tell(std::int32_t device, const Launch& launch) {
  if (!tells_launches()) [[likely]]
    return;
  const auto numbers = [](const std::array<unsigned, 3>& each) { return Dimensions{each[0], each[1], each[2]}; };
  const Kernel& kernel = *launch.kernel;
  tell_launch(device, kernel.name(),
              launch_words(numbers(launch.grid.blocks), numbers(launch.grid.threads), launch.names_dimensions),
              gpu::name_of(kernel.clang() ? kernel.clang()->mode : ClangKernel::kBare));
}

// Puts the record of the launch, and what it points to, into memory of the device.
ol_result lend(const Launcher& launcher, Launch& launch, void*& lent, const char*& call) {
  const ClangKernel& clang = *launch.kernel->clang();
  const Library& library = launcher.library;
  const gpu::Loan loan = gpu::loan_of(clang, launch.grid, launch.memory);
  std::uint64_t address = gpu::kNothingLent;
  if (loan.environment) {
    call = "olMemAlloc";
    if (const ol_result failed =
            library.allocate(launcher.context, launcher.found.device, OL_ALLOC_DEVICE, loan.size(), &lent))
      return failed;
    address = reinterpret_cast<std::uint64_t>(lent);
    const gpu::LaunchRecord record = gpu::record_of(clang, loan, launch.memory, address);
    call = "olMemcpy"; // waits: the record is this function's
    if (const ol_result failed =
            library.olMemcpy(nullptr, lent, launcher.found.device, record.bytes.data(), launcher.host, record.size))
      return failed;
  }
  void*& word = clang.environment == Place::kLast ? launch.values.back() : launch.values.front();
  word = reinterpret_cast<void*>(address);
  return nullptr;
}

} // namespace

std::optional<Launch> prepare(const Found& found, void* handle, plugin::Arguments arguments,
                              const tgt_launch_shape* shape) {
  const tgt_launch_shape asked = shape ? *shape : plugin::shape_of(1, 1);
  const Kernel& kernel = *static_cast<const Kernel*>(handle);
  const std::optional<ClangKernel>& clang = kernel.clang();
  if (clang && clang->unknown_environment) {
    fail("kernel " + kernel.title() + " has an environment of " + std::to_string(clang->unknown_environment) +
         " bytes, which no clang up to " + std::to_string(std::end(kGenerations)[-1].last_release) + " writes");
    return std::nullopt;
  }
  gpu::MemoryPromise memory;
  const std::optional<gpu::Grid> grid =
      gpu::grid_for(clang, gpu::clang_settings(), asked, facts_of(found), limits_of(found), memory);
  if (!grid)
    return std::nullopt;
  std::vector<void*> words(arguments.begin(), arguments.end());
  if (clang)
    gpu::place_environment(clang->environment, asked.flags, words);
  return Launch{&kernel, *grid, std::move(words), memory, (asked.flags & OMPTARGET_SHAPE_NAMES_DIMENSIONS) != 0};
}

ol_result start(const Launcher& launcher, Launch& launch, ol_queue queue, void*& lent, const char*& call) {
  const std::optional<ClangKernel>& clang = launch.kernel->clang();
  lent = nullptr;
  if (clang && clang->environment != Place::kNone)
    if (const ol_result failed = lend(launcher, launch, lent, call))
      return failed;
  tell(launcher.found.number, launch);
  const auto& [blocks, threads, memory, cooperates] = launch.grid;
  ol_launch_size size{3, {blocks[0], blocks[1], blocks[2]}, {threads[0], threads[1], threads[2]}, memory};
  const auto warp = static_cast<std::uint32_t>(launcher.found.warp);
  if (launcher.library.adds_warp() && clang && clang->mode == ClangKernel::kGeneric && threads[0] > warp)
    size.threads.x -= warp;
  call = "olLaunchKernel";
  return launcher.library.launch(queue, launcher.found.device, launch.kernel->symbol(), size, cooperates,
                                 launch.values.data(), launch.values.size());
}

} // namespace omptool::liboffload

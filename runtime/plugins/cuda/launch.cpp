// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include "launch_line.h"
#include "plugin_calls.h"
#include "settings.h"

#include <vector>

namespace omptool::cuda {
namespace {

constexpr std::size_t kArgument = sizeof(void*);

// A kernel reads its parameters whether they were given or not.
bool has_all(const KernelFacts& kernel, const std::string& name, std::size_t given) {
  if (!kernel.parameters_are_known || given >= kernel.parameters)
    return true;
  fail("kernel " + name + " has " + std::to_string(kernel.parameters) + " bytes of parameters, and gets " +
       std::to_string(given));
  return false;
}

Outcome start_in(const Driver& driver, Launch& launch, CUstream stream) {
  const auto& [blocks, threads, memory, cooperates] = launch.grid;
  CUfunction const function = launch.kernel->function();
  if (!cooperates) {
    void* words[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch.values.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &launch.size,
                     CU_LAUNCH_PARAM_END};
    return OMPTOOL_CUDA(driver, cuLaunchKernel, function, blocks[0], blocks[1], blocks[2], threads[0], threads[1],
                        threads[2], memory, stream, nullptr, launch.size ? words : nullptr);
  }
  std::vector<void*> each;
  for (void*& value : launch.values)
    each.push_back(&value);
  return OMPTOOL_CUDA(driver, cuLaunchCooperativeKernel, function, blocks[0], blocks[1], blocks[2], threads[0],
                      threads[1], threads[2], memory, stream, each.data());
}

// The address of what a kernel with a reduction is lent, or a word that it is nothing; 0, with last_error set: there is
// no memory for it.
CUdeviceptr lend(const Launcher& launcher, const Kernel& kernel, std::uint64_t size, CUstream stream,
                 CUdeviceptr& lent) {
  constexpr CUdeviceptr kNothing = ~CUdeviceptr{0};
  constexpr std::uint64_t kBuffer = 256; // where it begins: aligned for any type
  if (size == 0)
    return kNothing;
  const Driver& driver = launcher.context.driver;
  lent = launcher.memory.allocate(static_cast<std::int64_t>(size + kBuffer));
  if (!lent)
    return 0;
  const LaunchEnvironment environment{0, 0, lent + kBuffer};
  const Outcome outcome = launcher.context.in_stream(
      [&] { return OMPTOOL_CUDA(driver, cuMemcpyHtoDAsync_v2, lent, &environment, sizeof environment, stream); });
  if (outcome.ok())
    return lent;
  fail_of(driver, outcome, "kernel " + kernel.name());
  launcher.memory.release(lent);
  return lent = 0;
}

std::optional<Grid> grid_for(const Kernel& kernel, const tgt_launch_shape& asked, const KernelFacts& facts,
                             const DeviceLimits& device) {
  return kernel.clang() ? grid_of(*kernel.clang(), clang_settings(), asked, facts, device)
                        : grid_of(asked, facts, device);
}

void tell(std::int32_t device, const Kernel& kernel, const Grid& grid) {
  const auto all = [](const std::array<unsigned, 3>& each) { return std::uint64_t{each[0]} * each[1] * each[2]; };
  tell_launch(device, kernel.name(), all(grid.blocks), all(grid.threads),
              name_of(kernel.clang() ? kernel.clang()->mode : ClangKernel::kBare));
}

} // namespace

std::optional<Launch> prepare(const Launcher& launcher, void* handle, Arguments arguments,
                              const tgt_launch_shape& asked) {
  const auto [values, count] = arguments;
  if (!handle || count < 0 || (count > 0 && !values)) {
    fail("a kernel with " + std::to_string(count) + " arguments");
    return std::nullopt;
  }
  Kernel& kernel = *static_cast<Kernel*>(handle);
  const KernelFacts* const facts = kernel.facts(launcher.context);
  if (!facts)
    return std::nullopt;
  const std::optional<Grid> grid = grid_for(kernel, asked, *facts, launcher.limits);
  const std::size_t size = static_cast<std::size_t>(count) * kArgument;
  if (!grid || !has_all(*facts, kernel.name(), size) || !kernel.allow_memory(launcher.context, grid->memory))
    return std::nullopt;
  // The driver takes no more than the parameters.
  return Launch{&kernel, *grid, std::vector<void*>(values, values + count),
                facts->parameters_are_known ? facts->parameters : size};
}

bool start(const Launcher& launcher, Launch& launch, CUstream stream, CUdeviceptr& lent) {
  lent = 0;
  const Context& context = launcher.context;
  const Kernel& kernel = *launch.kernel;
  if (kernel.clang() && kernel.clang()->takes_environment && !launch.values.empty()) {
    const CUdeviceptr environment = lend(launcher, kernel, kernel.clang()->reduction_size, stream, lent);
    if (!environment)
      return false;
    launch.values[0] = reinterpret_cast<void*>(environment);
  }
  tell(launcher.device, kernel, launch.grid);
  const Outcome outcome = context.taking_memory( // for stacks, or for code that the driver loads no earlier
      [&] { return context.in_stream([&] { return start_in(context.driver, launch, stream); }); });
  if (outcome.ok())
    return true;
  fail_of(context.driver, outcome, "kernel " + kernel.name());
  const auto reason = last_error; // to release may fail, too
  launcher.memory.release(lent);
  last_error = reason;
  lent = 0;
  return false;
}

} // namespace omptool::cuda

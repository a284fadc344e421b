// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include "plugin_calls.h"
#include "settings.h"

#include <vector>

namespace omptool::cuda {
namespace {

constexpr std::size_t kArgument = sizeof(void*);

bool refuse(const std::string& reason) {
  fail(reason);
  return false;
}

// A kernel reads its parameters whether they were given or not.
bool has_all(const KernelFacts& kernel, const std::string& name, std::size_t given) {
  if (!kernel.parameters_are_known || given >= kernel.parameters)
    return true;
  return refuse("kernel " + name + " has " + std::to_string(kernel.parameters) + " bytes of parameters, and gets " +
                std::to_string(given));
}

Outcome start(const Driver& driver, const Kernel& kernel, const Grid& grid, void* buffer, std::size_t size,
              CUstream stream) {
  const auto& [blocks, threads, memory, cooperates] = grid;
  if (!cooperates) {
    void* words[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    return OMPTOOL_CUDA(driver, cuLaunchKernel, kernel.function(), blocks[0], blocks[1], blocks[2], threads[0],
                        threads[1], threads[2], memory, stream, nullptr, size ? words : nullptr);
  }
  std::vector<void*> each;
  for (std::size_t at = 0; at < size; at += kArgument)
    each.push_back(static_cast<char*>(buffer) + at);
  return OMPTOOL_CUDA(driver, cuLaunchCooperativeKernel, kernel.function(), blocks[0], blocks[1], blocks[2], threads[0],
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

} // namespace

bool launch(const Launcher& launcher, void* handle, Arguments arguments, const tgt_launch_shape& asked, CUstream stream,
            CUdeviceptr& lent) {
  lent = 0;
  const auto [values, count] = arguments;
  if (!handle || count < 0 || (count > 0 && !values))
    return refuse("a kernel with " + std::to_string(count) + " arguments");
  const Context& context = launcher.context;
  Kernel& kernel = *static_cast<Kernel*>(handle);
  const KernelFacts* const facts = kernel.facts(context);
  if (!facts)
    return false;
  const std::optional<Grid> grid = grid_for(kernel, asked, *facts, launcher.limits);
  std::size_t size = static_cast<std::size_t>(count) * kArgument;
  if (!grid || !has_all(*facts, kernel.name(), size) || !kernel.allow_memory(context, grid->memory))
    return false;
  if (facts->parameters_are_known) // the driver takes no more than that
    size = facts->parameters;
  void** buffer = values;
  std::vector<void*> own;
  if (kernel.clang() && kernel.clang()->takes_environment && count > 0) {
    const CUdeviceptr environment = lend(launcher, kernel, kernel.clang()->reduction_size, stream, lent);
    if (!environment)
      return false;
    own.assign(values, values + count);
    own[0] = reinterpret_cast<void*>(environment);
    buffer = own.data();
  }
  const Outcome outcome = context.in_stream([&] { return start(context.driver, kernel, *grid, buffer, size, stream); });
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

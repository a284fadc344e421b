// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include "common/calls.h"
#include "common/launch_line.h"
#include "common/launch_shape.h"
#include "generations.h"
#include "settings.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace omptool::cuda {
namespace {

constexpr std::size_t kArgument = sizeof(void*);
constexpr std::uint8_t kNoMemory = 1, kDeviceMemory = 2; // see MemoryPromise

// A kernel reads its parameters whether they were given or not.
bool has_all(const KernelFacts& facts, const Kernel& kernel, std::size_t given) {
  if (!facts.parameters_are_known || given >= facts.parameters)
    return true;
  fail("kernel " + kernel.title() + " has " + std::to_string(facts.parameters) + " bytes of parameters, and gets " +
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

using Place = ClangKernel::Environment;
constexpr std::uint64_t kAlignment = 256; // for any type

std::uint64_t aligned(std::uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// Memory that a launch lends its kernel, in this order.
struct Loan {
  std::uint64_t environment, buffer, memory; // bytes
};

Loan loan_of(const Launch& launch) {
  const ClangKernel& clang = *launch.kernel->clang();
  const auto& blocks = launch.grid.blocks;
  const std::uint64_t teams = std::uint64_t{blocks[0]} * blocks[1] * blocks[2];
  const std::uint64_t buffer = clang.reduction_size + teams * clang.team_reduction_size;
  const std::uint64_t memory = launch.memory.fallback == kDeviceMemory ? teams * launch.memory.size : 0;
  const bool is_needed = buffer > 0 || (clang.environment == Place::kLast && launch.memory.size > 0);
  return {is_needed ? kAlignment : 0, aligned(buffer), memory};
}

// The address of what a kernel is lent, or a word that it is nothing; 0, with last_error set: there is no memory for
// it.
CUdeviceptr lend(const Launcher& launcher, const Launch& launch, CUstream stream, CUdeviceptr& lent) {
  constexpr CUdeviceptr kNothing = ~CUdeviceptr{0};
  const Loan loan = loan_of(launch);
  if (loan.environment == 0)
    return kNothing;
  const Driver& driver = launcher.context.driver;
  lent = launcher.memory.allocate(loan.environment + loan.buffer + loan.memory);
  if (!lent)
    return 0;
  const CUdeviceptr buffer = lent + loan.environment;
  const LaunchEnvironment18 first{0, 0, buffer};
  const LaunchEnvironment23 last{loan.buffer ? buffer : 0, loan.memory ? buffer + loan.buffer : 0, 0,
                                 launch.memory.size, launch.memory.fallback};
  const bool is_last = launch.kernel->clang()->environment == Place::kLast;
  const void* const record = is_last ? static_cast<const void*>(&last) : &first;
  const std::size_t size = is_last ? sizeof last : sizeof first;
  const Outcome outcome = launcher.context.in_stream(
      [&] { return OMPTOOL_CUDA(driver, cuMemcpyHtoDAsync_v2, lent, record, size, stream); });
  if (outcome.ok())
    return lent;
  fail_of(driver, outcome, "kernel " + launch.kernel->title());
  launcher.memory.release(lent);
  return lent = 0;
}

std::optional<Grid> grid_for(const Kernel& kernel, const tgt_launch_shape& asked, const KernelFacts& facts,
                             const DeviceLimits& device) {
  return kernel.clang() ? grid_of(*kernel.clang(), clang_settings(), asked, facts, device)
                        : grid_of(asked, facts, device);
}

// Returns the grid of a kernel that may do without the memory that it asks for, or with other memory.
std::optional<Grid> grid_for(const Kernel& kernel, const tgt_launch_shape& asked, const KernelFacts& facts,
                             const DeviceLimits& device, MemoryPromise& memory) {
  const bool is_told = kernel.clang() && kernel.clang()->environment == Place::kLast;
  memory = {is_told ? static_cast<std::uint32_t>(std::min<std::uint64_t>(asked.dynamic_memory, UINT32_MAX)) : 0, 0};
  std::optional<Grid> grid = grid_for(kernel, asked, facts, device);
  const std::uint32_t otherwise = asked.flags & (OMPTARGET_SHAPE_MEMORY_OR_NULL | OMPTARGET_SHAPE_MEMORY_OR_DEVICE);
  if (grid || memory.size == 0 || otherwise == 0)
    return grid;
  tgt_launch_shape without = asked;
  without.dynamic_memory = 0;
  memory.fallback = otherwise == OMPTARGET_SHAPE_MEMORY_OR_NULL ? kNoMemory : kDeviceMemory;
  return grid_for(kernel, without, facts, device);
}

// Puts the word for the environment where the kernel takes it, wherever the call has it, if at all.
void place_environment(Place place, std::uint32_t flags, std::vector<void*>& values) {
  if ((flags & OMPTARGET_SHAPE_ENVIRONMENT_FIRST) && !values.empty())
    values.erase(values.begin());
  else if ((flags & OMPTARGET_SHAPE_ENVIRONMENT_LAST) && !values.empty())
    values.pop_back();
  if (place != Place::kNone)
    values.insert(place == Place::kFirst ? values.begin() : values.end(), nullptr);
}

void tell(std::int32_t device, const Launch& launch) {
  if (!tells_launches()) [[likely]]
    return;
  const auto numbers = [](const std::array<unsigned, 3>& each) { return Dimensions{each[0], each[1], each[2]}; };
  const Kernel& kernel = *launch.kernel;
  tell_launch(device, kernel.name(),
              launch_words(numbers(launch.grid.blocks), numbers(launch.grid.threads), launch.names_dimensions),
              name_of(kernel.clang() ? kernel.clang()->mode : ClangKernel::kBare));
}

} // namespace

std::optional<Launch> prepare(const Launcher& launcher, void* handle, plugin::Arguments arguments,
                              const tgt_launch_shape* shape) {
  const tgt_launch_shape asked = shape ? *shape : plugin::shape_of(1, 1);
  Kernel& kernel = *static_cast<Kernel*>(handle);
  if (kernel.clang() && kernel.clang()->unknown_environment) {
    fail("kernel " + kernel.title() + " has an environment of " + std::to_string(kernel.clang()->unknown_environment) +
         " bytes, which no clang up to " + std::to_string(std::end(kGenerations)[-1].last_release) + " writes");
    return std::nullopt;
  }
  const KernelFacts* const facts = kernel.facts(launcher.context);
  if (!facts)
    return std::nullopt;
  MemoryPromise memory;
  const std::optional<Grid> grid = grid_for(kernel, asked, *facts, launcher.limits, memory);
  std::vector<void*> words(arguments.begin(), arguments.end());
  if (kernel.clang())
    place_environment(kernel.clang()->environment, asked.flags, words);
  const std::size_t size = words.size() * kArgument;
  if (!grid || !has_all(*facts, kernel, size) || !kernel.allow_memory(launcher.context, grid->memory))
    return std::nullopt;
  // The driver takes no more than the parameters.
  return Launch{&kernel,          *grid,
                std::move(words), facts->parameters_are_known ? facts->parameters : size,
                memory,           (asked.flags & OMPTARGET_SHAPE_NAMES_DIMENSIONS) != 0};
}

bool start(const Launcher& launcher, Launch& launch, CUstream stream, CUdeviceptr& lent) {
  lent = 0;
  const Context& context = launcher.context;
  const Kernel& kernel = *launch.kernel;
  if (kernel.clang() && kernel.clang()->environment != Place::kNone) {
    const CUdeviceptr environment = lend(launcher, launch, stream, lent);
    if (!environment)
      return false;
    void*& word = kernel.clang()->environment == Place::kLast ? launch.values.back() : launch.values.front();
    word = reinterpret_cast<void*>(environment);
  }
  tell(launcher.device, launch);
  const Outcome outcome = context.taking_memory( // for stacks, or for code that the driver loads no earlier
      [&] { return context.in_stream([&] { return start_in(context.driver, launch, stream); }); });
  if (outcome.ok())
    return true;
  fail_of(context.driver, outcome, "kernel " + kernel.title());
  const auto reason = last_error; // to release may fail, too
  launcher.memory.release(lent);
  last_error = reason;
  lent = 0;
  return false;
}

} // namespace omptool::cuda

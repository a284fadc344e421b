// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include "common/calls.h"
#include "common/launch_line.h"
#include "common/launch_shape.h"
#include "generations.h"
#include "gpu/settings.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace omptool::cuda {
namespace {

constexpr std::size_t kArgument = sizeof(void*);
using Place = ClangKernel::Environment;

// Checks the number of arguments: a kernel reads all its parameters, even those that were not passed.
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

// Lends memory to a kernel and returns its address, or the word for no memory. Returns 0, with last_error set, if the
// allocation fails.
CUdeviceptr lend(const Launcher& launcher, const Launch& launch, CUstream stream, CUdeviceptr& lent) {
  const ClangKernel& clang = *launch.kernel->clang();
  const Loan loan = loan_of(clang, launch.grid, launch.memory);
  if (loan.environment == 0)
    return kNothingLent;
  const Driver& driver = launcher.context.driver;
  lent = launcher.memory.allocate(loan.size());
  if (!lent)
    return 0;
  const LaunchRecord record = record_of(clang, loan, launch.memory, lent);
  const Outcome outcome = launcher.context.in_stream(
      [&] { return OMPTOOL_CUDA(driver, cuMemcpyHtoDAsync_v2, lent, record.bytes.data(), record.size, stream); });
  if (outcome.ok())
    return lent;
  fail_of(driver, outcome, "kernel " + launch.kernel->title());
  launcher.memory.release(lent);
  return lent = 0;
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
  const std::optional<Grid> grid = grid_for(kernel.clang(), clang_settings(), asked, *facts, launcher.limits, memory);
  std::vector<void*> words(arguments.begin(), arguments.end());
  if (kernel.clang())
    place_environment(kernel.clang()->environment, asked.flags, words);
  const std::size_t size = words.size() * kArgument;
  if (!grid || !has_all(*facts, kernel, size) || !kernel.allow_memory(launcher.context, grid->memory))
    return std::nullopt;
  // Passes only as many arguments as the kernel has parameters.
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

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/launch_environment.h"

#include <algorithm>
#include <cstring>

namespace omptool::gpu {
namespace {

using Place = ClangKernel::Environment;
constexpr std::uint8_t kNoMemory = 1, kDeviceMemory = 2; // see MemoryPromise
constexpr std::uint64_t kAlignment = 256;                // for any type

std::uint64_t aligned(std::uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

std::optional<Grid> grid_for(const std::optional<ClangKernel>& clang, const ClangSettings& settings,
                             const tgt_launch_shape& asked, const KernelFacts& facts, const DeviceLimits& device) {
  return clang ? grid_of(*clang, settings, asked, facts, device) : grid_of(asked, facts, device);
}

} // namespace

Loan loan_of(const ClangKernel& clang, const Grid& grid, const MemoryPromise& promised) {
  const std::uint64_t teams = std::uint64_t{grid.blocks[0]} * grid.blocks[1] * grid.blocks[2];
  const std::uint64_t buffer = clang.reduction_size + teams * clang.team_reduction_size;
  const std::uint64_t memory = promised.fallback == kDeviceMemory ? teams * promised.size : 0;
  const bool is_needed = buffer > 0 || (clang.environment == Place::kLast && promised.size > 0);
  return {is_needed ? kAlignment : 0, aligned(buffer), memory};
}

LaunchRecord record_of(const ClangKernel& clang, const Loan& loan, const MemoryPromise& memory, std::uint64_t address) {
  const std::uint64_t buffer = address + loan.environment;
  const LaunchEnvironment18 first{0, 0, buffer};
  const LaunchEnvironment23 last{loan.buffer ? buffer : 0, loan.memory ? buffer + loan.buffer : 0, 0, memory.size,
                                 memory.fallback};
  const bool is_last = clang.environment == Place::kLast;
  LaunchRecord record{{}, is_last ? sizeof last : sizeof first};
  static_assert(sizeof last <= sizeof record.bytes);
  std::memcpy(record.bytes.data(), is_last ? static_cast<const void*>(&last) : &first, record.size);
  return record;
}

std::optional<Grid> grid_for(const std::optional<ClangKernel>& clang, const ClangSettings& settings,
                             const tgt_launch_shape& asked, const KernelFacts& facts, const DeviceLimits& device,
                             MemoryPromise& memory) {
  const bool is_told = clang && clang->environment == Place::kLast;
  memory = {is_told ? static_cast<std::uint32_t>(std::min<std::uint64_t>(asked.dynamic_memory, UINT32_MAX)) : 0, 0};
  std::optional<Grid> grid = grid_for(clang, settings, asked, facts, device);
  const std::uint32_t otherwise = asked.flags & (OMPTARGET_SHAPE_MEMORY_OR_NULL | OMPTARGET_SHAPE_MEMORY_OR_DEVICE);
  if (grid || memory.size == 0 || otherwise == 0)
    return grid;
  tgt_launch_shape without = asked;
  without.dynamic_memory = 0;
  memory.fallback = otherwise == OMPTARGET_SHAPE_MEMORY_OR_NULL ? kNoMemory : kDeviceMemory;
  return grid_for(clang, settings, without, facts, device);
}

void place_environment(Place place, std::uint32_t flags, std::vector<void*>& values) {
  if ((flags & OMPTARGET_SHAPE_ENVIRONMENT_FIRST) && !values.empty())
    values.erase(values.begin());
  else if ((flags & OMPTARGET_SHAPE_ENVIRONMENT_LAST) && !values.empty())
    values.pop_back();
  if (place != Place::kNone)
    values.insert(place == Place::kFirst ? values.begin() : values.end(), nullptr);
}

} // namespace omptool::gpu

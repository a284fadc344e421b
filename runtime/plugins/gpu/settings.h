// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Environment variables that programs set for LLVM's CUDA plugin, and that mean the same here. A value that is no
// number is ignored, as in LLVM's plugin. Programs that run with raised privileges (AT_SECURE) ignore them.
#pragma once

#include "gpu/clang_kernel.h"

#include <cstdint>
#include <optional>

namespace omptool::gpu {

// Settings from OMP_NUM_TEAMS, OMP_TEAM_LIMIT, LIBOMPTARGET_MIN_THREADS_FOR_LOW_TRIP_COUNT,
// LIBOMPTARGET_REUSE_BLOCKS_FOR_HIGH_TRIP_COUNT and LIBOMPTARGET_SHARED_MEMORY_SIZE.
const ClangSettings& clang_settings();
std::uint32_t debug_kind();                      // LIBOMPTARGET_DEVICE_RTL_DEBUG
std::optional<std::uint64_t> stack_of_threads(); // LIBOMPTARGET_STACK_SIZE, in bytes
std::optional<std::uint64_t> heap_of_kernels();  // LIBOMPTARGET_HEAP_SIZE, in bytes

} // namespace omptool::gpu

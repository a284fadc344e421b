// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows the kernels that a compiler wrote for a device runtime, which the image has (runtime/devicertl).
#pragma once

#include "crew.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace omptool::host {

// Runtime kernel: a kernel that makes its threads itself, called once for each team. Its address in the plugin's table
// is that of its record, with both marks.
struct RuntimeKernel {
  void* kernel;
  std::int32_t most_teams;   // below 1: any number
  std::int32_t most_threads; // of a team; below 1: any number

  static constexpr std::uintptr_t kMarks = TeamKernel::kMark | TeamKernel::kMark >> 1;
  void* handle() const { return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(this) | kMarks); }
  static const RuntimeKernel* of(void* handle) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    return (value & kMarks) == kMarks ? reinterpret_cast<const RuntimeKernel*>(value & ~kMarks) : nullptr;
  }

  // Reads the kernel's environment, of kEnvironment bytes or more: three bytes, then numbers of 4 bytes, the least and
  // the most threads, the least and the most teams, and two for reductions (LLVM's Environment.h).
  static constexpr std::int64_t kEnvironment = 28;
  static constexpr std::int32_t kNoThreadLimit = 256; // flang's for a kernel without the clause
  static RuntimeKernel with(void* kernel, const void* environment) {
    RuntimeKernel made{kernel, 0, 0};
    const auto* const bytes = static_cast<const std::byte*>(environment);
    std::memcpy(&made.most_threads, bytes + 8, sizeof made.most_threads);
    std::memcpy(&made.most_teams, bytes + 16, sizeof made.most_teams);
    if (made.most_threads == kNoThreadLimit)
      made.most_threads = 0;
    return made;
  }

  // Returns the thread limit of a team: the smaller one of the launch and the environment; 0: any number. Before OpenMP
  // 5.1, flang's launches do not pass the clause thread_limit.
  std::int32_t thread_limit(std::int32_t of_launch) const {
    const std::int32_t own = std::max(most_threads, 0);
    return of_launch > 0 && own > 0 ? std::min(of_launch, own) : std::max(of_launch, own);
  }
};

} // namespace omptool::host

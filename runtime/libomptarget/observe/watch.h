// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether anybody watches what calls do: users of LIBOMPTARGET_INFO, tools. Zero in most processes, and
// the one thing that a call looks at.
#pragma once

#include <atomic>
#include <cstdint>

namespace omptool {

constexpr std::uint64_t kWatchInfo = 0xffff'ffff;     // the bits of LIBOMPTARGET_INFO
constexpr std::uint64_t kWatchTools = 1ULL << 32;     // a tool has registered callbacks
constexpr std::uint64_t kWatchUndecided = 1ULL << 33; // nobody has asked yet whether there is a tool

extern std::atomic<std::uint64_t> watched;

inline bool watches(std::uint64_t any) {
  return watched.load(std::memory_order_acquire) & any;
}

} // namespace omptool

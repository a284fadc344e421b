// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time stamp counter of x86-64.
#pragma once

#include "file.h"

#include <array>
#include <cpuid.h>
#include <cstdint>
#include <fcntl.h>
#include <string_view>
#include <x86intrin.h>

namespace omptool::observe {

constexpr bool kHasCounter = true;
constexpr std::uint64_t kWidestReading = 1500; // below a microsecond from 1.5 GHz on

inline std::uint64_t read_counter() {
  return __rdtsc();
}

// Returns whether the counter works as a clock. The processor shows whether its rate is constant (Intel SDM 18.17.1,
// "invariant TSC"). Only the Linux kernel checks whether the counters of all processors agree: it uses them for its
// clock while they do.
inline bool counts_as_clock() {
  constexpr unsigned kLeaf = 0x80000007, kInvariant = 1 << 8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(kLeaf, &a, &b, &c, &d) || !(d & kInvariant))
    return false;
  const File file(::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC));
  constexpr std::string_view kOwn = "tsc\n";
  std::array<char, kOwn.size()> name{};
  return file && file.read(std::as_writable_bytes(std::span(name))) &&
         std::string_view(name.data(), name.size()) == kOwn;
}

} // namespace omptool::observe

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A piece of the program's memory.
#pragma once

#include <cstdint>

namespace omptool {

struct HostRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0; // one past the last byte

  static HostRange of(const void* address, std::int64_t size) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address);
    return {begin, begin + static_cast<std::uintptr_t>(size)};
  }
  std::int64_t size() const { return static_cast<std::int64_t>(end - begin); }
  void* address() const { return reinterpret_cast<void*>(begin); }
  bool contains(HostRange other) const { return begin <= other.begin && other.end <= end; }
  bool overlaps(HostRange other) const { return begin < other.end && other.begin < end; }
};

} // namespace omptool

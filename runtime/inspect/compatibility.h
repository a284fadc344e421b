// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of a cubin, and the records of its section `.nv.compat`.
#pragma once

#include "exported.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

struct Bytes {
  const std::uint8_t* begin;
  std::uint64_t size;

  Bytes part(std::uint64_t at, std::uint64_t length) const {
    expect(at <= size && length <= size - at);
    return {begin + at, length};
  }
  template <class T> T get(std::uint64_t at) const {
    T value;
    std::memcpy(&value, part(at, sizeof value).begin, sizeof value);
    return value;
  }
  template <class T> T row(std::uint64_t number) const { return get<T>(number * sizeof(T)); }
};

constexpr std::string_view kCompatibility = ".nv.compat";

// Returns whether the cubin has the record of code for one architecture alone.
inline bool has_specific_record(Bytes block) {
  constexpr std::uint64_t kMostCompatibility = 1 << 12, kCompatibilityRecord = 4;
  constexpr std::uint8_t kSized = 4, kSpecific = 9;
  const std::uint64_t end = std::min(block.size, kMostCompatibility);
  for (std::uint64_t at = 0; at + kCompatibilityRecord <= end; at += kCompatibilityRecord) {
    const bool is_sized = block.begin[at] == kSized;
    if (!is_sized && block.begin[at + 1] == kSpecific && block.begin[at + 2])
      return true;
    at += is_sized ? block.get<std::uint16_t>(at + 2) : 0;
  }
  return false;
}

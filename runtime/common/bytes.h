// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of files and tables that may hold anything. Every read from them goes through the functions of this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace omptool {

using Bytes = std::span<const std::byte>;

// A T at `offset`, or nothing when that runs past the end.
template <typename T> std::optional<T> read(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The T with number `index` of those that begin at `offset`.
template <typename T> std::optional<T> read_nth(Bytes bytes, std::uint64_t offset, std::uint64_t index) {
  std::uint64_t at = 0;
  if (__builtin_mul_overflow(index, sizeof(T), &at) || __builtin_add_overflow(offset, at, &at))
    return std::nullopt;
  return read<T>(bytes, at);
}

// Returns whether the bounds that a descriptor gives can be those of an array.
template <typename T> bool is_range(const T* begin, const T* end) {
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(end);
  return first <= last && (last - first) % sizeof(T) == 0 && (first != 0 || last == 0);
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a row names.
#pragma once

#include "data/table/row.h"
#include "host_range.h"

#include <algorithm>

namespace omptool {

constexpr std::int64_t kPointerSize = sizeof(void*);

inline HostRange range_of(const Row& row) {
  return HostRange::of(row.begin, row.size);
}
inline HostRange cell_of(const Row& row) {
  return HostRange::of(row.base, kPointerSize);
}
// Returns the program's pointer to a new object: its beginning, or before that.
inline std::uintptr_t base_of(const Row& row) {
  return reinterpret_cast<std::uintptr_t>(std::min(row.base, row.begin));
}
inline void* pointer_value(const Row& row) {
  return *static_cast<void**>(row.base);
}

// Returns the place that a row without bytes points to.
inline void* empty_section(const Row& row) {
  if (row.has(kSection))
    return row.begin;
  return row.has(kPointer) ? pointer_value(row) : row.base;
}

// Returns the part that lies in both: an implicit row may reach past the object that serves it.
inline HostRange common(HostRange a, HostRange b) {
  const std::uintptr_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// Both, and what lies between them.
inline HostRange enclosing_range(HostRange a, HostRange b) {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

// The device address that stands for `base`, given the one that stands for `begin`.
inline void* device_base(const std::byte* device_begin, const void* begin, const void* base) {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(base);
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(device_begin) - offset);
}

} // namespace omptool

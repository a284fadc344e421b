// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The argument arrays of the interface document's calls.
#pragma once

#include "abi/calls_of_arrays.h"
#include "observe/events.h"
#include "omptarget.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

namespace omptool::document {

inline constexpr struct {
  std::int32_t type;
  std::uint32_t flags;
} kTranslation[] = {
    {OMP_TGT_MAPTYPE_TO, kTo},
    {OMP_TGT_MAPTYPE_FROM, kFrom},
    {OMP_TGT_MAPTYPE_ALWAYS, kAlways},
    {OMP_TGT_MAPTYPE_DELETE, kDelete},
    {OMP_TGT_MAPTYPE_MAP_PTR, kPointer},
    {OMP_TGT_MAPTYPE_FIRST_REF, kCounts | kArgument},
    {OMP_TGT_MAPTYPE_RETURN_PTR, kReturn},
    {OMP_TGT_MAPTYPE_PRIVATE_PTR, kPrivate | kArgument},
    {OMP_TGT_MAPTYPE_PRIVATE_VAL, kValue | kArgument},
};

inline std::uint32_t flags_of(std::int32_t type) {
  std::uint32_t flags = 0;
  for (const auto& row : kTranslation)
    if (type & row.type)
      flags |= row.flags;
  return flags;
}

struct Arrays {
  std::int32_t count;
  void** bases;
  void** begins;
  std::int64_t* sizes;
  std::int32_t* types;

  static std::string fault() { return {}; }
  static const char* how_many() { return "four"; }
  bool complete() const { return bases && begins && sizes && types; }
  void* base(std::size_t i) const { return bases[i]; }
  Row row(std::size_t i) const { return {bases[i], begins[i], sizes[i], flags_of(types[i]), &bases[i]}; }
  const char* fault_of(std::size_t i) const {
    constexpr std::int32_t kKnown = 0x1ff;
    if (types[i] & ~kKnown)
      return "has an unknown bit in its map type";
    if (types[i] & OMP_TGT_MAPTYPE_PRIVATE_VAL)
      return nullptr; // the value alone counts
    if (const char* const fault = fault_of_memory(begins[i], sizes[i]))
      return fault;
    if ((types[i] & OMP_TGT_MAPTYPE_MAP_PTR) && !bases[i])
      return "has MAP_PTR, but no pointer cell";
    return nullptr;
  }
  std::string describe(std::size_t i) const {
    char text[96];
    std::snprintf(text, sizeof text, "address %p, size %lld, type 0x%x", begins[i], static_cast<long long>(sizes[i]),
                  static_cast<unsigned>(types[i]));
    return text;
  }
};

using Action = observe::Action;

inline observe::Call call_of(Action action, const char* function, const void* code, const void* entry = nullptr,
                             std::int32_t teams = 1) {
  return {observe::Abi::kInterface,
          action,
          function,
          code,
          -1,
          entry,
          nullptr,
          false,
          static_cast<std::uint32_t>(std::max(teams, 0))};
}

} // namespace omptool::document

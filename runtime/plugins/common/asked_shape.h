// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a launch shape of the core's, for plugins of one dimension.
#pragma once

#include "calls.h"
#include "omptarget_rtl.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace omptool {

// Dimensions one after the other. 0 leaves it to the device.
struct AskedShape {
  std::int32_t teams;
  std::int32_t threads;
  std::uint64_t trip_count;
  std::uint64_t dynamic_memory;
  bool is_cooperative;
};

// Nothing, with last_error set: there are too many. The record may be of an earlier or a later core.
inline std::optional<AskedShape> asked_shape(const tgt_launch_shape& record) {
  tgt_launch_shape known{};
  std::memcpy(&known, &record, std::min<std::size_t>(record.size, sizeof known));
  const auto number_of = [](const std::uint32_t(&each)[3]) -> std::uint64_t {
    const std::uint64_t further = std::uint64_t{std::max(each[1], 1U)} * std::max(each[2], 1U);
    return each[0] == 0 ? 0 : further > INT32_MAX ? further : further * each[0];
  };
  const std::uint64_t teams = number_of(known.teams);
  const std::uint64_t threads = number_of(known.threads);
  if (teams > INT32_MAX || threads > INT32_MAX) {
    fail("more than 2147483647 teams, or threads of a team");
    return std::nullopt;
  }
  return AskedShape{static_cast<std::int32_t>(teams), static_cast<std::int32_t>(threads), known.trip_count,
                    known.dynamic_memory, (known.flags & OMPTARGET_SHAPE_COOPERATIVE) != 0};
}

} // namespace omptool

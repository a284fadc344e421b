// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of a launch's shape, and how plugins of one dimension understand them.
#pragma once

#include "calls.h"
#include "omptarget_rtl.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace omptool::plugin {

// Makes the record for a call of the document's.
inline tgt_launch_shape shape_of(std::int32_t num_teams, std::int32_t thread_limit) {
  tgt_launch_shape shape{};
  shape.size = sizeof shape;
  shape.teams[0] = static_cast<std::uint32_t>(std::max(num_teams, 0));
  shape.threads[0] = static_cast<std::uint32_t>(std::max(thread_limit, 0));
  return shape;
}

// Returns the fields of a record that this release has. The record may come from an older or newer core: missing fields
// become 0, and unknown fields are ignored.
inline tgt_launch_shape known_part(const tgt_launch_shape& record) {
  tgt_launch_shape known{};
  std::memcpy(&known, &record, std::min<std::size_t>(record.size, sizeof known));
  return known;
}

// Shape of a launch with its dimensions multiplied. 0: the device chooses.
struct FlatShape {
  std::int32_t teams;
  std::int32_t threads;
  std::uint64_t trip_count;
  bool names_dimensions = false; // in lines for the user
  std::uint32_t flags = 0;       // of the record
};

// Returns nothing, with last_error set, if `device` ("the CPU") cannot launch this shape. Without a shape: one team of
// one thread.
inline std::optional<FlatShape> flat_shape(const tgt_launch_shape* asked, const std::string& device) {
  if (!asked)
    return FlatShape{1, 1, 0};
  const auto number_of = [](const std::uint32_t(&each)[3]) -> std::uint64_t {
    const std::uint64_t further = std::uint64_t{std::max(each[1], 1U)} * std::max(each[2], 1U);
    return each[0] == 0 ? 0 : further > INT32_MAX ? further : further * each[0];
  };
  const std::uint64_t teams = number_of(asked->teams), threads = number_of(asked->threads);
  std::string fault;
  if (teams > INT32_MAX || threads > INT32_MAX)
    fault = "the launch asks for more than 2147483647 teams, or threads of a team";
  else if ((asked->flags & OMPTARGET_SHAPE_COOPERATIVE) && (teams != 1 || threads > 1))
    fault = "the launch asks for teams that wait for each other, which " + device + " does not have";
  else if (asked->dynamic_memory > 0)
    fault = "the launch asks for " + std::to_string(asked->dynamic_memory) + " bytes of each team's own memory; on " +
            device + " a launch gives teams none";
  if (fault.empty())
    return FlatShape{static_cast<std::int32_t>(teams), static_cast<std::int32_t>(threads), asked->trip_count,
                     (asked->flags & OMPTARGET_SHAPE_NAMES_DIMENSIONS) != 0, asked->flags};
  fail(fault);
  return std::nullopt;
}

} // namespace omptool::plugin

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the record beside a region's arguments: numbers of teams and threads, iterations, flags.
#pragma once

#include "rtl/launch_shape.h"

#include <cstdint>
#include <iterator>

namespace omptool::llvm {

// Kernel arguments of LLVM: the fields at the start of every version. The first version ends soon after them.
struct KernelArguments {
  std::uint32_t version;
  std::uint32_t count;
  void** base;
  void** begin;
  std::int64_t* size;
  std::int64_t* type;
  void** names;
  void** mappers;
  std::uint64_t trip_count;
  // Flags, from version 2 on.
  std::uint64_t flags = 0;
  std::uint32_t teams[3] = {};
  std::uint32_t threads[3] = {};
  std::uint32_t dynamic_memory = 0;
};
constexpr std::uint64_t kNowaitFlag = 1;
// Memory fallback in the flags since clang 23, for too little team memory: 0 the region fails, 1 the kernel gets NULL,
// 2 it gets device memory.
constexpr std::uint64_t kMemoryFlags = 3 << 2;
constexpr std::uint64_t kCooperativeFlag = 1 << 4;
constexpr std::uint32_t kNoTeams = ~0U; // not a construct of teams

// Record version, with its meaning.
struct RecordVersion {
  bool is_known;
  bool has_shape;               // the fields from version 2 on
  EnvironmentPlace environment; // kLast: the last element of the arrays, which `count` counts
};
// By version: 1 is clang 15's, 2 that of 16 to 18, of which 18 passes an environment, 3 that of 19 to 22, 5 that of 23.
inline constexpr RecordVersion kRecordVersions[] = {{},
                                                    {true, false, EnvironmentPlace::kNone},
                                                    {true, true, EnvironmentPlace::kFirstIfTaken},
                                                    {true, true, EnvironmentPlace::kFirst},
                                                    {}, // of no release
                                                    {true, true, EnvironmentPlace::kLast}};
inline const RecordVersion& version_of(const KernelArguments* arguments) {
  return kRecordVersions[arguments && arguments->version < std::size(kRecordVersions) ? arguments->version : 0];
}

// The further dimensions are 0 where they are not used.
inline void take_dimensions(const std::uint32_t (&from)[3], std::uint32_t (&to)[3]) {
  if (from[0] != 0 && from[0] != kNoTeams)
    to[0] = from[0];
  for (const int i : {1, 2})
    to[i] = std::max(from[i], 1U);
}

// Returns the shape that a call asks for. Numbers beside the record count if the record has none; negative ones mean
// that the construct has no teams, and leave the threads to the device.
inline LaunchShape shape_of(const KernelArguments& arguments, std::int32_t num_teams, std::int32_t thread_limit) {
  const RecordVersion& version = version_of(&arguments);
  LaunchShape shape{LaunchShape::Origin::kCompiler, version.environment};
  shape.asked.teams[0] = num_teams < 0 ? 1 : static_cast<std::uint32_t>(num_teams);
  shape.asked.threads[0] = static_cast<std::uint32_t>(std::max(thread_limit, 0));
  shape.asked.trip_count = arguments.trip_count;
  if (!version.has_shape)
    return shape;
  take_dimensions(arguments.teams, shape.asked.teams);
  take_dimensions(arguments.threads, shape.asked.threads);
  shape.asked.dynamic_memory = arguments.dynamic_memory;
  if (arguments.flags & kCooperativeFlag)
    shape.asked.flags |= OMPTARGET_SHAPE_COOPERATIVE;
  if (const std::uint64_t otherwise = (arguments.flags & kMemoryFlags) >> 2; otherwise == 1)
    shape.asked.flags |= OMPTARGET_SHAPE_MEMORY_OR_NULL;
  else if (otherwise == 2)
    shape.asked.flags |= OMPTARGET_SHAPE_MEMORY_OR_DEVICE;
  return shape;
}

} // namespace omptool::llvm

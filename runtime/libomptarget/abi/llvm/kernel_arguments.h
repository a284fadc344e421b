// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the calls of regions say beside their arguments: numbers of teams and threads, iterations, flags.
#pragma once

#include "rtl/launch_shape.h"

#include <cstdint>
#include <iterator>

namespace omptool::llvm {

// How every version of LLVM's kernel arguments begins; the first ends soon after.
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
  // From version 2 on.
  std::uint64_t flags;
  std::uint32_t teams[3];
  std::uint32_t threads[3];
  std::uint32_t dynamic_memory;
};
constexpr std::uint64_t kNowaitFlag = 1;
// The fallback if a team's own memory is too small, since clang 23: 0 the region fails, 1 the kernel gets NULL, 2 it
// gets memory of the device.
constexpr std::uint64_t kMemoryFlags = 3 << 2;
constexpr std::uint64_t kCooperativeFlag = 1 << 4;
constexpr std::uint32_t kNoTeams = ~0U; // not a construct of teams

// The meaning of a version of the record.
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
constexpr const RecordVersion& record_version(std::uint32_t version) {
  return kRecordVersions[version < std::size(kRecordVersions) ? version : 0];
}

// The shape that a call with these numbers asks for; negative ones say that it is not a construct of teams, and
// leave the threads to the device.
LaunchShape shape_of(std::int32_t num_teams, std::int32_t thread_limit, std::uint64_t trip_count);
// The numbers beside the record, where it has none of its own.
LaunchShape shape_of(const KernelArguments& arguments, std::int32_t num_teams, std::int32_t thread_limit);

// How often the loop of the thread's next region on the device runs, which clang 14 says in a call of its own.
void push_trip_count(std::int64_t device, std::uint64_t trip_count);
std::uint64_t take_trip_count(std::int64_t device);

} // namespace omptool::llvm

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/kernel_arguments.h"

#include "process/default_device.h"

#include <algorithm>
#include <utility>

namespace omptool::llvm {
namespace {

// At most one: clang's calls are one right after the other.
struct TripCount {
  std::int64_t device;
  std::uint64_t count;
};
thread_local constinit TripCount pushed [[gnu::tls_model("initial-exec")]]{};

// The further dimensions are 0 where they are not used.
void take_dimensions(const std::uint32_t (&from)[3], std::uint32_t (&to)[3]) {
  if (from[0] != 0 && from[0] != kNoTeams)
    to[0] = from[0];
  for (const int i : {1, 2})
    to[i] = std::max(from[i], 1U);
}

} // namespace

LaunchShape shape_of(std::int32_t num_teams, std::int32_t thread_limit, std::uint64_t trip_count) {
  LaunchShape shape{LaunchShape::Origin::kCompiler};
  shape.asked.teams[0] = num_teams < 0 ? 1 : static_cast<std::uint32_t>(num_teams);
  shape.asked.threads[0] = static_cast<std::uint32_t>(std::max(thread_limit, 0));
  shape.asked.trip_count = trip_count;
  return shape;
}

LaunchShape shape_of(const KernelArguments& arguments, std::int32_t num_teams, std::int32_t thread_limit) {
  LaunchShape shape = shape_of(num_teams, thread_limit, arguments.trip_count);
  const RecordVersion version = record_version(arguments.version);
  shape.environment = version.environment;
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

void push_trip_count(std::int64_t device, std::uint64_t trip_count) {
  pushed = {device_number(device), trip_count};
}

std::uint64_t take_trip_count(std::int64_t device) {
  return pushed.count != 0 && pushed.device == device_number(device) ? std::exchange(pushed.count, 0) : 0;
}

} // namespace omptool::llvm

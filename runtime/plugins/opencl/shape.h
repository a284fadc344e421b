// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch's teams and threads.
#pragma once

#include "common/asked_shape.h"
#include "common/calls.h"

#include <cstdint>
#include <optional>
#include <string>

namespace omptool::opencl {

// 0 leaves it to the device.
struct Shape {
  std::int32_t teams;
  std::int32_t threads;
  std::uint64_t trip_count = 0;
};

// Nothing, with last_error set: it cannot be run here.
inline std::optional<Shape> shape_of(const tgt_launch_shape& record) {
  const std::optional<AskedShape> asked = asked_shape(record);
  if (!asked)
    return std::nullopt;
  if (asked->is_cooperative && std::int64_t{asked->teams} * asked->threads != 1) {
    fail("teams of OpenCL do not wait for each other");
    return std::nullopt;
  }
  if (asked->dynamic_memory > 0) {
    fail(std::to_string(asked->dynamic_memory) + " bytes of each team's own: on OpenCL a launch gives teams no memory");
    return std::nullopt;
  }
  return Shape{asked->teams, asked->threads, asked->trip_count};
}

} // namespace omptool::opencl

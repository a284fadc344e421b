// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of kernels on the threads of this plugin.
#pragma once

#include "common/device.h"
#include "kernels/crew.h"
#include "pool.h"

#include <cstdint>
#include <optional>

namespace omptool::host {

struct Shape {
  std::int32_t num_teams;
  std::int32_t num_threads; // in each team; 0: not set by the program
};
// Shape of a kernel that is called once and may make threads itself.
inline constexpr Shape kNoShape{1, 0};
// Returns nothing, with last_error set, if this plugin cannot run the shape.
std::optional<Shape> shape_of(const tgt_launch_shape* asked);

struct Launcher {
  // Runs the kernel. Returns 0 when all threads have ended, or OMPTARGET_RTL_NOT_STARTED with last_error set.
  std::int32_t run(void* kernel, plugin::Arguments arguments, Shape shape) const;
  // Returns false, with last_error set, if the kernel is certain not to start.
  bool can_run(void* kernel, plugin::Arguments arguments, Shape shape) const;

  const std::int32_t device;
  Pool& pool;
  Crews& crews;
};

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu/shape.h"

#include "common/launch_shape.h"

#include <doctest/doctest.h>
#include <string>

using namespace omptool::gpu;
using omptool::plugin::known_part;
using omptool::plugin::shape_of;

namespace {

const DeviceLimits kDevice{
    .most_threads = 1024, .most_memory = 100'000, .warp = 32, .units = 4, .threads_of_unit = 2048, .cooperates = false};
const KernelFacts kKernel{
    .most_threads = 256, .memory = 1000, .parameters = 0, .parameters_are_known = true, .blocks = 12, .threads = 192};

} // namespace

TEST_CASE("a grid is what is asked for, and the kernel's own choice where nothing is") {
  const std::optional<Grid> asked = grid_of(shape_of(3, 64), kKernel, kDevice);
  REQUIRE(asked);
  CHECK(asked->blocks[0] == 3);
  CHECK(asked->threads[0] == 64);
  const std::optional<Grid> open = grid_of(shape_of(0, 0), kKernel, kDevice);
  REQUIRE(open);
  CHECK(open->blocks[0] == 12);
  CHECK(open->threads[0] == 192);
  CHECK(grid_of(shape_of(-3, -1), kKernel, kDevice)->blocks[0] == 12);
}

TEST_CASE("a record of an earlier core has no more than its size") {
  tgt_launch_shape record = shape_of(3, 64);
  record.size = offsetof(tgt_launch_shape, threads);
  CHECK(known_part(record).teams[0] == 3);
  CHECK(known_part(record).threads[0] == 0);
}

TEST_CASE("limits are the kernel's and the device's") {
  CHECK(grid_of(shape_of(1, 256), kKernel, kDevice));
  CHECK_FALSE(grid_of(shape_of(1, 257), kKernel, kDevice));
  tgt_launch_shape shape = shape_of(1, 1);
  shape.dynamic_memory = 99'000;
  CHECK(grid_of(shape, kKernel, kDevice));
  shape.dynamic_memory = 99'001;
  CHECK_FALSE(grid_of(shape, kKernel, kDevice));
  shape = shape_of(1, 1);
  shape.threads[0] = shape.threads[1] = shape.threads[2] = UINT32_MAX;
  CHECK_FALSE(grid_of(shape, kKernel, kDevice));
  CHECK(
      std::string(omptool::last_error.data()).starts_with("the launch asks for teams of more than 2147483647 threads"));
  shape = shape_of(1, 1);
  shape.flags = OMPTARGET_SHAPE_COOPERATIVE;
  CHECK_FALSE(grid_of(shape, kKernel, kDevice));
}

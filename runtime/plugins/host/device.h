// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU as a device: images as shared objects, memory of its own, kernels on a pool of threads.
#pragma once

#include "image.h"
#include "operation.h"
#include "pool.h"
#include "teams.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace omptool::host {

struct Shape {
  std::int32_t num_teams;
  std::int32_t num_threads; // in each team
};
// As the program asks for it; 0 leaves it to the device.
inline Shape shape_of(std::int32_t num_teams, std::int32_t thread_limit) {
  const auto all = static_cast<std::int32_t>(Pool::hardware_threads());
  return {num_teams > 0 ? num_teams : all, thread_limit > 0 ? thread_limit : 1};
}
// Dimensions one after the other. Nothing, with last_error set: it cannot be run here.
std::optional<Shape> shape_of(const tgt_launch_shape& asked);

class Device {
public:
  Device(std::int32_t number, Pool& pool, Crews& crews) : number_(number), pool_(pool), crews_(crews) {}

  tgt_target_table* load(__tgt_device_image* image);
  std::int32_t unload(const __tgt_device_image* image);
  void* allocate(std::int64_t size);
  std::int32_t copy(void* target, const void* source, std::int64_t size);
  std::int32_t fill(void* target, std::int32_t value, std::int64_t size);
  std::int32_t release(void* memory);
  std::int32_t run(void* kernel, void** arguments, std::int32_t count, Shape shape);

  // The same for a queue, which calls it later: empty where that is certain to fail, and fail() says why. The arguments
  // are copied.
  Body later_copy(void* target, const void* source, std::int64_t size);
  Body later_fill(void* target, std::int32_t value, std::int64_t size);
  Body later_run(void* kernel, void** arguments, std::int32_t count, Shape shape);

private:
  [[gnu::noinline, gnu::cold]] std::int32_t run_teams_of(void* handle, void** arguments, std::int32_t count,
                                                         Shape shape);

  const std::int32_t number_;
  Pool& pool_;
  Crews& crews_;
  std::mutex mutex_;
  std::map<const __tgt_device_image*, std::unique_ptr<Image>> images_; // under the lock
};

} // namespace omptool::host

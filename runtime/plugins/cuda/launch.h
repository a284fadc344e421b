// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's way into a stream.
#pragma once

#include "common/device.h"
#include "driver/context.h"
#include "driver/memory.h"
#include "gpu/launch_environment.h"
#include "kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace omptool::cuda {

// Launcher: the parts of a device that a launch uses.
struct Launcher {
  std::int32_t device;
  const Context& context;
  const DeviceLimits& limits;
  Memory& memory;
};

// Launch that has passed all checks that need no driver call: it may wait for its turn.
struct Launch {
  Kernel* kernel;
  Grid grid;
  std::vector<void*> values;
  std::size_t size; // bytes of them that the driver copies
  MemoryPromise memory = {};
  bool names_dimensions = false; // in the line for the user
};

// Prepares a launch. Returns nothing, with last_error set, if the kernel cannot run in this shape.
std::optional<Launch> prepare(const Launcher& launcher, void* handle, plugin::Arguments arguments,
                              const tgt_launch_shape* shape);
// Queues the kernel and returns true. Returns false if the kernel certainly does not begin, with the reason in
// last_error. `lent` is memory that the caller releases when the kernel has ended, or 0.
bool start(const Launcher& launcher, Launch& launch, CUstream stream, CUdeviceptr& lent);

} // namespace omptool::cuda

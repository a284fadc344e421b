// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's way into a stream.
#pragma once

#include "driver/context.h"
#include "driver/memory.h"
#include "kernel.h"
#include "shape.h"

#include <cstdint>

namespace omptool::cuda {

// Values of 8 bytes, in order.
struct Arguments {
  void** values;
  std::int32_t count;
};

// What a launch works with.
struct Launcher {
  const Context& context;
  const DeviceLimits& limits;
  Memory& memory;
};

// Whether the kernel was queued; else it certainly does not begin, and last_error says why. `lent` is memory that the
// caller releases when the kernel has ended, or 0.
bool launch(const Launcher& launcher, void* handle, Arguments arguments, const tgt_launch_shape& asked, CUstream stream,
            CUdeviceptr& lent);

} // namespace omptool::cuda

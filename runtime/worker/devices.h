// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mpi/transport/wire.h"
#include "rtl/rtl.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace omptool::worker {

using mpi::Buffer;
using mpi::Operation;
using mpi::View;

// Outcome of an operation: the result of the plugin's function, and its bytes; if the result is not 0, the reason.
struct Outcome {
  std::int32_t result = 0;
  Buffer bytes = {};
  static Outcome failed(std::int32_t result, std::string_view why);
  // Returns the outcome of the plugin's last call on this thread.
  static Outcome of(std::int32_t result, const Rtl& rtl);
};

// A device of a plugin.
struct Device {
  Rtl* rtl;
  std::int32_t number;
};

struct Devices {
  // Throws mpi::Malformed: there is no such device.
  const Device& of(const Operation& operation) const;
  std::vector<Device> all;
};

} // namespace omptool::worker

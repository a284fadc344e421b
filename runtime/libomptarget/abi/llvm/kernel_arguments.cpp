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

} // namespace

void push_trip_count(std::int64_t device, std::uint64_t trip_count) {
  pushed = {device_number(device), trip_count};
}

std::uint64_t take_trip_count(std::int64_t device) {
  return pushed.count != 0 && pushed.device == device_number(device) ? std::exchange(pushed.count, 0) : 0;
}

} // namespace omptool::llvm

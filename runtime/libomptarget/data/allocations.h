// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory of the program's own, which no host memory stands for.
#pragma once

#include "rtl/device_memory.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace omptool {

class Allocations {
public:
  explicit Allocations(const DeviceMemory& memory) : memory_(memory) {}

  void* allocate(std::size_t size);
  bool release(void* memory);
  // Returns whether the address lies in memory of the program's own that the host cannot use.
  bool hold(std::uintptr_t address);

private:
  const DeviceMemory& memory_;
  std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> sizes_; // by address; only where the host cannot use them
};

} // namespace omptool

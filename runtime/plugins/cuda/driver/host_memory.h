// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that the host and kernels use alike: page-locked, or managed by the driver.
#pragma once

#include "context.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace omptool::cuda {

// Host memory that a device can reach. Records page-locked ranges, so that copies from them need no driver query.
class HostMemory {
public:
  explicit HostMemory(const Context& context) : context_(context) {}

  // Allocates host memory of one of omptarget_rtl.h's kinds. Returns null, with last_error set, on failure.
  void* allocate(std::size_t size, std::int32_t kind);
  std::int32_t release(void* memory, std::int32_t kind);
  // Page-locks host memory and returns the address for kernels, or null with last_error set.
  void* lock(void* host, std::int64_t size);
  std::int32_t unlock(void* host);

  bool is_locked(const void* host, std::size_t size);

private:
  void note(void* host, std::size_t size);
  void forget(void* host);

  const Context& context_;
  std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> locked_;
};

} // namespace omptool::cuda

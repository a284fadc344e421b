// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_memory.h"

#include "common/calls.h"
#include "omptarget_rtl.h"

#include <algorithm>
#include <iterator>

namespace omptool::cuda {
namespace {

constexpr unsigned kForKernels = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;

} // namespace

void* HostMemory::allocate(std::size_t size, std::int32_t kind) {
  const Driver& driver = context_.driver;
  const std::size_t bytes = std::max<std::size_t>(size, 1);
  void* memory = nullptr;
  CUdeviceptr managed = 0;
  const auto ask = [&] {
    return kind == OMPTARGET_MEMORY_HOST
               ? OMPTOOL_CUDA(driver, cuMemHostAlloc, &memory, bytes, kForKernels)
               : OMPTOOL_CUDA(driver, cuMemAllocManaged, &managed, bytes, CU_MEM_ATTACH_GLOBAL);
  };
  Outcome outcome = context_.enter();
  if (outcome.ok())
    outcome = context_.taking_memory(ask);
  if (!outcome.ok()) {
    fail_of(driver, outcome, "no memory for " + std::to_string(size) + " bytes");
    return nullptr;
  }
  if (kind != OMPTARGET_MEMORY_HOST)
    return reinterpret_cast<void*>(managed);
  note(memory, bytes);
  return memory;
}

std::int32_t HostMemory::release(void* memory, std::int32_t kind) {
  const Driver& driver = context_.driver;
  Outcome outcome = context_.enter();
  if (kind == OMPTARGET_MEMORY_HOST)
    forget(memory);
  if (outcome.ok())
    outcome = kind == OMPTARGET_MEMORY_HOST ? OMPTOOL_CUDA(driver, cuMemFreeHost, memory)
                                            : OMPTOOL_CUDA(driver, cuMemFree_v2, reinterpret_cast<CUdeviceptr>(memory));
  return has_ended(outcome) ? 0 : fail_of(driver, outcome, "memory is not released");
}

void* HostMemory::lock(void* host, std::int64_t size) {
  if (size <= 0) {
    fail("a size of " + std::to_string(size) + " bytes");
    return nullptr;
  }
  const Driver& driver = context_.driver;
  const auto bytes = static_cast<std::size_t>(size);
  CUdeviceptr device = 0;
  Outcome outcome = context_.enter();
  if (outcome.ok())
    outcome =
        context_.taking_memory([&] { return OMPTOOL_CUDA(driver, cuMemHostRegister_v2, host, bytes, kForKernels); });
  const bool is_registered = outcome.ok();
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuMemHostGetDevicePointer_v2, &device, host, 0);
  if (!outcome.ok()) {
    if (is_registered)
      driver.cuMemHostUnregister(host);
    fail_of(driver, outcome, "memory is not page-locked");
    return nullptr;
  }
  note(host, bytes);
  return reinterpret_cast<void*>(device);
}

std::int32_t HostMemory::unlock(void* host) {
  forget(host);
  Outcome outcome = context_.enter();
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(context_.driver, cuMemHostUnregister, host);
  return has_ended(outcome) ? 0 : fail_of(context_.driver, outcome, "memory stays page-locked");
}

bool HostMemory::is_locked(const void* host, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(host);
  const std::lock_guard lock(mutex_);
  const auto after = locked_.upper_bound(begin);
  if (after == locked_.begin())
    return false;
  const auto& [start, length] = *std::prev(after);
  return begin - start <= length && size <= length - (begin - start);
}

void HostMemory::note(void* host, std::size_t size) {
  const std::lock_guard lock(mutex_);
  locked_[reinterpret_cast<std::uintptr_t>(host)] = size;
}

void HostMemory::forget(void* host) {
  const std::lock_guard lock(mutex_);
  locked_.erase(reinterpret_cast<std::uintptr_t>(host));
}

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory beside a device's own: that of other kinds, which its plugin allocates, and the host's while it is
// page-locked.
#pragma once

#include "rtl/device_memory.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace omptool {

class SpecialMemory {
public:
  explicit SpecialMemory(const DeviceMemory& memory) : memory_(memory) {}

  // Returns whether allocate() may give any.
  bool has_kinds() const { return memory_.call().memory_alloc != nullptr; }
  // Allocates memory of the kind OMPTARGET_MEMORY_.... Returns null if there is none; the first time, a line has the
  // reason.
  void* allocate(std::int64_t size, std::int32_t kind);
  // Returns whether the device could free it. Nothing: allocate() has not given it.
  std::optional<bool> free(void* memory);

  // Page-locks host memory, and returns its address for kernels; null: it cannot be locked, or only in part. Memory
  // within locked memory is locked once more. If the plugin locks nothing, the address is the host's.
  void* lock(void* host, std::size_t size);
  // Unlocks what was locked with this address within it. False: the device could not, or nothing is locked there.
  bool unlock(void* host);

private:
  struct Locked {
    std::uintptr_t end;
    std::byte* device;
    int times;
    bool is_busy; // a thread is with the plugin for it
  };
  using Ranges = std::map<std::uintptr_t, Locked>; // by their beginnings
  using Lock = std::unique_lock<std::mutex>;
  Ranges::iterator find_idle(std::uintptr_t begin, std::uintptr_t end, Lock& lock);

  const DeviceMemory& memory_;
  std::mutex mutex_; // not held while the plugin is called
  std::condition_variable resolved_;
  std::map<void*, std::int32_t> kinds_; // of memory from allocate()
  Ranges locked_;
};

} // namespace omptool

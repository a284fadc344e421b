// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hook of DeviceMemory: a guard allocates the objects of a device in place of the plugin, so that it sees which
// bytes kernels read and write.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptool::observe {

struct MemoryRequest {
  int device;
  const void* host; // null: for no variable
  std::size_t size;
  std::size_t padding;     // bytes before the memory
  std::size_t alignment;   // the least
  std::uint64_t construct; // 0: none
};

class MemoryGuard {
public:
  // Returns whether objects of the device are guarded. `in_kernel` returns whether the calling thread runs a kernel;
  // null: kernels do not run in this process, or have no memory of their own.
  virtual bool guards(int device, std::int32_t (*in_kernel)()) = 0;
  // Allocates guarded memory. Returns null for a request that is left to the plugin.
  virtual std::byte* allocate(const MemoryRequest& request) = 0;
  // Returns false for memory of the plugin.
  virtual bool release(void* memory) = 0;
  // Called before the runtime reads or writes memory of a device.
  virtual void note_use(const void* there, std::size_t size, bool writes) = 0;

protected:
  ~MemoryGuard() = default;
};

// Returns the guard that the environment asks for; null: none.
MemoryGuard* memory_guard();

} // namespace omptool::observe

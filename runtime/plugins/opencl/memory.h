// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a device, of the kind that settings and driver make it, and copies and fills of it.
#pragma once

#include "discovery.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace omptool::opencl {

// Order of a queued operation: the events that it waits for, and the place of its own event.
struct Order {
  std::vector<cl_event> before;
  cl_event* made;

  cl_uint count() const { return static_cast<cl_uint>(before.size()); }
  const cl_event* events() const { return before.empty() ? nullptr : before.data(); }
};

class Memory {
public:
  Memory(const Loader& cl, const Found& found, cl_context context) : cl_(cl), found_(found), context_(context) {}

  // Allocates memory of one of omptarget_rtl.h's kinds. Returns null, with last_error set, on failure.
  void* allocate(std::size_t size, std::int32_t kind);
  std::int32_t release(void* memory);

  // Queue the operation and return 0, or an error of OpenCL's.
  cl_int copy(cl_command_queue queue, void* target, const void* source, std::size_t size, const Order& order) const;
  cl_int fill(cl_command_queue queue, void* target, unsigned char value, std::size_t size, const Order& order) const;
  // The call that those two make.
  const char* copy_call() const { return by_usm() ? "clEnqueueMemcpyINTEL" : "clEnqueueSVMMemcpy"; }
  const char* fill_call() const { return by_usm() ? "clEnqueueMemFillINTEL" : "clEnqueueSVMMemFill"; }

  // Passes a kernel the allocations that it may reach. `passed` belongs to the kernel: the number of changes of the
  // list that was passed last.
  cl_int allow(cl_kernel kernel, std::uint64_t& passed);

private:
  bool by_usm() const;
  void* take(std::size_t size, std::int32_t kind, cl_int& error);

  const Loader& cl_;
  const Found& found_;
  const cl_context context_;
  std::mutex mutex_;
  std::set<void*> listed_;                // under the lock; where each has to be passed to kernels
  std::atomic<std::uint64_t> changes_{1}; // of the list
};

} // namespace omptool::opencl

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory.h"

#include "common/calls.h"
#include "loader.h"
#include "omptarget_rtl.h"

#include <algorithm>
#include <cstdlib>

namespace omptool::opencl {

bool Memory::by_usm() const {
  return found_.memory == MemoryKind::kUsm || found_.memory == MemoryKind::kDevice ||
         (found_.memory == MemoryKind::kShared && found_.extensions.clEnqueueMemcpyINTEL);
}

void* Memory::take(std::size_t size, std::int32_t kind, cl_int& error) {
  constexpr cl_uint kAlignment = 64; // for any type; OpenCL's largest has 128 bytes, which C's types have no use for
  const Extensions& usm = found_.extensions;
  const bool is_shared = kind == OMPTARGET_MEMORY_SHARED || (kind == OMPTARGET_MEMORY_DEVICE && found_.is_direct);
  switch (found_.memory) {
  case MemoryKind::kUsm:
  case MemoryKind::kDevice:
    if (kind == OMPTARGET_MEMORY_HOST)
      return usm.clHostMemAllocINTEL(context_, nullptr, size, kAlignment, &error);
    return is_shared ? usm.clSharedMemAllocINTEL(context_, found_.device, nullptr, size, kAlignment, &error)
                     : usm.clDeviceMemAllocINTEL(context_, found_.device, nullptr, size, kAlignment, &error);
  case MemoryKind::kShared:
    return std::malloc(size);
  default: {
    const cl_bitfield atomics = found_.has_svm_atomics ? CL_MEM_SVM_ATOMICS : 0;
    return cl_.clSVMAlloc(context_, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER | atomics, size, kAlignment);
  }
  }
}

void* Memory::allocate(std::size_t size, std::int32_t kind) {
  if (size > found_.largest_block) {
    fail("no memory for " + std::to_string(size) + " bytes: the device gives " + std::to_string(found_.largest_block) +
         " at most");
    return nullptr;
  }
  cl_int error = CL_SUCCESS;
  void* const memory = take(std::max<std::size_t>(size, 1), kind, error);
  if (!memory)
    fail("no memory for " + std::to_string(size) + " bytes" +
         (error == CL_SUCCESS ? "" : ", " + failure_of("of the driver", error)));
  if (memory && found_.lists_svm) {
    const std::lock_guard lock(mutex_);
    listed_.insert(memory);
    ++changes_;
  }
  return memory;
}

std::int32_t Memory::release(void* memory) {
  if (!memory)
    return 0;
  if (found_.lists_svm) {
    const std::lock_guard lock(mutex_);
    listed_.erase(memory);
    ++changes_;
  }
  if (found_.memory == MemoryKind::kShared) {
    std::free(memory);
  } else if (found_.memory == MemoryKind::kSvm) {
    cl_.clSVMFree(context_, memory);
  } else if (const cl_int error = found_.extensions.clMemFreeINTEL(context_, memory)) {
    return fail(failure_of("clMemFreeINTEL", error));
  }
  return 0;
}

cl_int Memory::copy(cl_command_queue queue, void* target, const void* source, std::size_t size,
                    const Order& order) const {
  const auto call = by_usm() ? found_.extensions.clEnqueueMemcpyINTEL : cl_.clEnqueueSVMMemcpy;
  return call(queue, CL_FALSE, target, source, size, order.count(), order.events(), order.made);
}

cl_int Memory::fill(cl_command_queue queue, void* target, unsigned char value, std::size_t size,
                    const Order& order) const {
  const auto call = by_usm() ? found_.extensions.clEnqueueMemFillINTEL : cl_.clEnqueueSVMMemFill;
  return call(queue, target, &value, sizeof value, size, order.count(), order.events(), order.made);
}

cl_int Memory::allow(cl_kernel kernel, std::uint64_t& passed) {
  if (found_.lists_svm ? passed == changes_.load() : passed != 0)
    return CL_SUCCESS;
  cl_int error = CL_SUCCESS;
  const auto pass = [&](cl_uint what, std::size_t size, const void* value) {
    if (error == CL_SUCCESS)
      error = cl_.clSetKernelExecInfo(kernel, what, size, value);
  };
  const cl_bool yes = CL_TRUE;
  if (found_.lists_svm) {
    const std::lock_guard lock(mutex_);
    const std::vector<void*> all(listed_.begin(), listed_.end());
    if (!all.empty())
      pass(CL_KERNEL_EXEC_INFO_SVM_PTRS, all.size() * sizeof all[0], all.data());
    passed = changes_;
    return error;
  }
  if (found_.memory == MemoryKind::kSvm || found_.memory == MemoryKind::kShared)
    pass(CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof yes, &yes);
  else
    for (const cl_uint what :
         {CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
          CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL})
      pass(what, sizeof yes, &yes);
  passed = 1;
  return error;
}

} // namespace omptool::opencl

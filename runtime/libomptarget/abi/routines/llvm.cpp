// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The routines of OpenMP 5 and of LLVM that programs find in libomptarget. Asynchronous ones wait for
// what they depend on and have done their work when they return.
#define OMPTARGET_NO_SYMVER
#include "omptarget.h"

#include "abi/exports.h"
#include "abi/llvm/narrator.h"
#include "abi/llvm/tables.h"
#include "abi/routines/copies.h"
#include "abi/routines/routine.h"
#include "offload/offload.h"
#include "process/libomp.h"

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace omptool {
namespace {

// dim3 of CUDA.
struct Extent {
  std::uint32_t x, y, z;
};

// The values between <<< and >>>, until the launch takes them.
struct CallConfiguration {
  Extent grid, block;
  std::size_t memory;
  void* stream;
};
thread_local std::vector<CallConfiguration> call_configurations;

void* set_memory(void* target, int value, std::size_t size, int number) {
  if (!target || size == 0)
    return target;
  if (is_host(number))
    return std::memset(target, value, size);
  Device* device = usable_device(number);
  return device && fill(*device, static_cast<std::byte*>(target), value, size) ? target : nullptr;
}

// Memory that the host and the device can use at the same address, where there is any: of the kind, or the device's
// own.
void* allocate_for_both(std::size_t size, int number, std::int32_t kind) {
  if (is_host(number))
    return std::malloc(size);
  Device* device = usable_device(number);
  if (!device || size > LONG_MAX)
    return nullptr;
  if (device->special.has_kinds())
    return device->special.allocate(static_cast<std::int64_t>(size), kind);
  return device->memory.is_addressable() ? omp_target_alloc(size, number) : nullptr;
}

} // namespace
} // namespace omptool

extern "C" {

// ---- where things are ----

OMPTOOL_EXPORT int omp_get_device_num(void) {
  return omp_get_num_devices(); // this function is the host's
}

OMPTOOL_EXPORT void* omp_get_mapped_ptr(const void* host, int number) {
  return omptool::guarded(__func__, [&]() -> void* {
    if (!host)
      return nullptr;
    if (omptool::is_host(number))
      return const_cast<void*>(host);
    omptool::Device* device = omptool::prepared_device(number);
    if (device)
      omptool::report_lookup(*device, host);
    return device ? device->data.table.device_address(host) : nullptr;
  });
}

OMPTOOL_EXPORT int omp_target_is_accessible(const void* address, size_t size, int number) {
  return omptool::guarded(__func__, [&]() -> int {
    if (!address)
      return 0;
    if (omptool::is_host(number))
      return 1;
    omptool::Device* device = omptool::prepared_device(number);
    return device && size > 0 && device->data.sharing.any();
  });
}

OMPTOOL_EXPORT const char* omp_get_uid_from_device(int number) {
  return omptool::guarded(__func__, [&]() -> const char* {
    if (omptool::is_host(number))
      return "HOST";
    omptool::Device* device = omptool::usable_device(number);
    return device ? device->uid.c_str() : nullptr;
  });
}

OMPTOOL_EXPORT int omp_get_device_from_uid(const char* uid) {
  return omptool::guarded(__func__, [&]() -> int {
    constexpr int kInvalidDevice = -2;
    const int count = omptool::number_of_devices();
    if (uid && !std::strcmp(uid, "HOST"))
      return count;
    for (int number = 0; uid && number < count; ++number)
      if (omptool::Registry::current()->device(number)->uid == uid)
        return number;
    return kInvalidDevice;
  });
}

OMPTOOL_EXPORT void ompx_dump_mapping_tables(void) {
  omptool::guarded(__func__, [] {
    std::fputs(omptool::llvm::describe_tables("libomptarget:0:0").c_str(), stdout);
    std::fflush(stdout);
  });
}

OMPTOOL_EXPORT void __tgt_set_info_flag(std::uint32_t flags) {
  omptool::llvm::set_info(flags);
}

// ---- memory ----

OMPTOOL_EXPORT void* omp_target_memset(void* target, int value, size_t size, int number) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  return omptool::guarded(__func__, [&] { return omptool::set_memory(target, value, size, number); });
}

OMPTOOL_EXPORT void* omp_target_memset_async(void* target, int value, size_t size, int number, int count,
                                             void** dependences) {
  return omptool::guarded(__func__, [&] {
    omptool::wait_for(count, dependences);
    return omptool::set_memory(target, value, size, number);
  });
}

OMPTOOL_EXPORT int omp_target_memcpy_async(void* target, const void* source, size_t size, size_t target_offset,
                                           size_t source_offset, int to, int from, int count, void** dependences) {
  return omptool::guarded(__func__, [&] {
    omptool::wait_for(count, dependences);
    return omp_target_memcpy(target, source, size, target_offset, source_offset, to, from);
  });
}

OMPTOOL_EXPORT int omp_target_memcpy_rect_async(void* target, const void* source, size_t element, int dimensions,
                                                const size_t* volume, const size_t* target_offsets,
                                                const size_t* source_offsets, const size_t* target_dimensions,
                                                const size_t* source_dimensions, int to, int from, int count,
                                                void** dependences) {
  return omptool::guarded(__func__, [&] {
    omptool::wait_for(count, dependences);
    return omp_target_memcpy_rect(target, source, element, dimensions, volume, target_offsets, source_offsets,
                                  target_dimensions, source_dimensions, to, from);
  });
}

OMPTOOL_EXPORT void* llvm_omp_target_alloc_device(size_t size, int number) {
  return omp_target_alloc(size, number);
}
OMPTOOL_EXPORT void* llvm_omp_target_alloc_host(size_t size, int number) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  return omptool::guarded(__func__, [&] { return omptool::allocate_for_both(size, number, OMPTARGET_MEMORY_HOST); });
}
OMPTOOL_EXPORT void* llvm_omp_target_alloc_shared(size_t size, int number) {
  const omptool::Routine here(__func__, __builtin_return_address(0));
  return omptool::guarded(__func__, [&] { return omptool::allocate_for_both(size, number, OMPTARGET_MEMORY_SHARED); });
}
OMPTOOL_EXPORT void llvm_omp_target_free_device(void* memory, int number) {
  omp_target_free(memory, number);
}
OMPTOOL_EXPORT void llvm_omp_target_free_host(void* memory, int number) {
  omp_target_free(memory, number);
}
OMPTOOL_EXPORT void llvm_omp_target_free_shared(void* memory, int number) {
  omp_target_free(memory, number);
}

OMPTOOL_EXPORT void* llvm_omp_target_lock_mem(void* memory, size_t size, int number) {
  return omptool::guarded(__func__, [&] {
    omptool::Device* const device = memory && size > 0 ? omptool::usable_device(number) : nullptr;
    return device ? device->special.lock(memory, size) : memory;
  });
}
OMPTOOL_EXPORT void llvm_omp_target_unlock_mem(void* memory, int number) {
  omptool::guarded(__func__, [&] {
    if (omptool::Device* const device = memory ? omptool::usable_device(number) : nullptr)
      device->special.unlock(memory);
  });
}

// Memory of a team: the host has none.
OMPTOOL_EXPORT void* llvm_omp_target_dynamic_shared_alloc(void) {
  return nullptr;
}
OMPTOOL_EXPORT void* llvm_omp_get_dynamic_shared(void) {
  return nullptr;
}

// Between uses of a device, only data of the program is left there, and it stays.
OMPTOOL_EXPORT int tgt_pause_resource(int, int number) {
  return omptool::guarded(__func__, [&] { return number >= 0 && number < omptool::number_of_devices(); }) ? 0 : 1;
}

// ---- memory spaces of libomp 22 ----

// With a single device that has memory which the host can use, it is the resource of every space; an allocator does
// not tell which of several is meant.
OMPTOOL_EXPORT int __tgt_get_mem_resources(int count, const int* devices, int, const void*, int* resources) {
  return omptool::guarded(__func__, [&]() -> int {
    omptool::Device* const only = omptool::number_of_devices() == 1 ? omptool::usable_device(0) : nullptr;
    if (count != 1 || !devices || devices[0] != 0 || !only ||
        !(only->special.has_kinds() || only->memory.is_addressable()))
      return 0;
    if (resources)
      resources[0] = 0;
    return 1;
  });
}
OMPTOOL_EXPORT void* __tgt_omp_alloc(std::size_t size, const void*) {
  return llvm_omp_target_alloc_shared(size, 0);
}
OMPTOOL_EXPORT void __tgt_omp_free(void* memory, const void*) {
  omp_target_free(memory, 0);
}

// ---- record and replay ----

OMPTOOL_EXPORT int __tgt_target_kernel_replay(void*, std::int64_t, void*, void*, std::int64_t, void**, std::ptrdiff_t*,
                                              std::int32_t, std::int32_t, std::int32_t, std::uint64_t) {
  omptool::say("__tgt_target_kernel_replay: this runtime does not replay kernels");
  return omptool::kFailed;
}
OMPTOOL_EXPORT int __tgt_activate_record_replay(std::int64_t, std::uint64_t, void*, bool, bool, std::uint64_t*) {
  omptool::say("__tgt_activate_record_replay: this runtime does not record kernels");
  return omptool::kFailed;
}

// ---- launches of CUDA programs, clang's -foffload-via-llvm ----

OMPTOOL_EXPORT unsigned __llvmPushCallConfiguration(omptool::Extent grid, omptool::Extent block, std::size_t memory,
                                                    void* stream) {
  return omptool::guarded(__func__, [&] {
    omptool::call_configurations.push_back({grid, block, memory, stream});
    return 0U;
  });
}
OMPTOOL_EXPORT unsigned __llvmPopCallConfiguration(omptool::Extent* grid, omptool::Extent* block, std::size_t* memory,
                                                   void** stream) {
  if (omptool::call_configurations.empty() || !grid || !block || !memory || !stream)
    return 1;
  const omptool::CallConfiguration& last = omptool::call_configurations.back();
  *grid = last.grid;
  *block = last.block;
  *memory = last.memory;
  *stream = last.stream;
  omptool::call_configurations.pop_back();
  return 0;
}
// No plugin's kernels take what CUDA's do.
OMPTOOL_EXPORT unsigned llvmLaunchKernel(const void* function, omptool::Extent, omptool::Extent, void*, std::size_t,
                                         void*) {
  omptool::say("llvmLaunchKernel: the kernel at %p is not launched: no device runs CUDA kernels", function);
  return 1;
}
}

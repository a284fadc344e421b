// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.opencl.so: the target RTL interface (omptarget_rtl.h) over any device of OpenCL that takes SPIR-V.
//
//   OMPTOOL_OPENCL_MEMORY=KIND   where data lies: usm, device, svm or shared (settings.h)
//   OCL_ICD_VENDORS=DIR          the loader's own: the folder, or the file, that names the drivers
#include "omptarget_rtl.h"

#include "driver.h"
#include "shape.h"

using omptool::opencl::Device;
using omptool::opencl::guarded;

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return omptool::safely(0, [] { return omptool::opencl::count_devices(); });
}

// Asks no driver: programs without such an image never open one.
OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  return omptool::safely(0, [&] {
    const auto* const begin = static_cast<const std::byte*>(image->ImageStart);
    const std::string fault = omptool::opencl::fault_of_image({begin, static_cast<const std::byte*>(image->ImageEnd)});
    omptool::fail(fault);
    return fault.empty() ? 1 : 0;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_init_device(int32_t device_id) {
  return guarded(device_id, 1, [](Device&) { return 0; });
}

OMPTOOL_RTL_EXPORT tgt_target_table* __tgt_rtl_load_binary(int32_t device_id, __tgt_device_image* image) {
  return guarded(device_id, static_cast<tgt_target_table*>(nullptr),
                 [&](Device& device) { return device.load(image); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_unload_binary(int32_t device_id, __tgt_device_image* image) {
  return guarded(device_id, 1, [&](Device& device) { return device.unload(image); });
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_data_alloc(int32_t device_id, int64_t size) {
  return __tgt_rtl_memory_alloc(device_id, size, OMPTARGET_MEMORY_DEVICE);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_delete(int32_t device_id, void* target_ptr) {
  return guarded(device_id, 1, [&](Device& device) { return device.memory().release(target_ptr); });
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_memory_alloc(int32_t device_id, int64_t size, int32_t kind) {
  return guarded(device_id, static_cast<void*>(nullptr),
                 [&](Device& device) { return device.memory().allocate(size, kind); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_free(int32_t device_id, void* memory, int32_t) {
  return __tgt_rtl_data_delete(device_id, memory);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_submit(int32_t device_id, void* target_ptr, void* host_ptr, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.copy(target_ptr, host_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.copy(host_ptr, target_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.fill(target_ptr, value, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_exchange(int32_t from_device_id, void* source_ptr, int32_t to_device_id,
                                                   void* target_ptr, int64_t size) {
  return guarded(from_device_id, 1, [&](Device& from) {
    return guarded(to_device_id, 1, [&](Device& to) -> int32_t {
      if (&from == &to)
        return to.copy(target_ptr, source_ptr, size);
      omptool::fail("two devices of OpenCL do not reach each other");
      return OMPTARGET_RTL_NOT_STARTED;
    });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_target_region(int32_t device_id, void* target_entry_ptr,
                                                       void** target_vars_ptr, int32_t arg_num) {
  return __tgt_rtl_run_target_team_region(device_id, target_entry_ptr, target_vars_ptr, arg_num, 1, 1);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t device_id, void* target_entry_ptr,
                                                            void** target_vars_ptr, int32_t arg_num, int32_t num_teams,
                                                            int32_t thread_limit) {
  return guarded(device_id, 1, [&](Device& device) {
    return device.run(target_entry_ptr, target_vars_ptr, arg_num, {num_teams, thread_limit});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                                int32_t arg_num, const tgt_launch_shape* shape) {
  return guarded(device_id, 1, [&](Device& device) {
    const std::optional<omptool::opencl::Shape> known = omptool::opencl::shape_of(*shape);
    return known ? device.run(target_entry_ptr, target_vars_ptr, arg_num, *known) : OMPTARGET_RTL_NOT_STARTED;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_shares_host_memory(int32_t device_id) {
  return omptool::safely(0, [&]() -> int32_t {
    const Device* const device = omptool::opencl::device_of(device_id);
    return device && device->found().memory == omptool::opencl::MemoryKind::kShared;
  });
}

// Whatever kind of memory data_alloc gives: kernels may use addresses of system SVM unless they are told otherwise.
OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_reaches_host_memory(int32_t device_id) {
  return omptool::safely(0, [&]() -> int32_t {
    const Device* const device = omptool::opencl::device_of(device_id);
    if (device && !device->found().reaches_host_memory)
      omptool::fail("the device reaches none that its driver has not allocated: it has neither fine-grained system SVM "
                    "nor shared system memory of cl_intel_unified_shared_memory");
    return device && device->found().reaches_host_memory;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_is_addressable(int32_t device_id) {
  return omptool::safely(0, [&]() -> int32_t {
    const Device* const device = omptool::opencl::device_of(device_id);
    return device && device->found().is_direct;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_moves_like_memmove(int32_t device_id) {
  return __tgt_rtl_memory_is_addressable(device_id);
}

// Where nothing is moved by the driver, kernels are all that would be queued, and each is waited for.
OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_prefers_queues(int32_t device_id) {
  return !__tgt_rtl_memory_is_addressable(device_id);
}

OMPTOOL_RTL_EXPORT const char* __tgt_rtl_last_error(void) {
  const char* const reason = omptool::last_error.data();
  return *reason ? reason : nullptr;
}

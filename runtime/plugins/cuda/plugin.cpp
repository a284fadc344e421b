// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.cuda.so: the target RTL interface (omptarget_rtl.h) over NVIDIA's driver.
#include "omptarget_rtl.h"

#include "common/description.h"
#include "compile/compiled.h"
#include "cuda.h"

using omptool::cuda::Cuda;
using omptool::cuda::Device;
using omptool::cuda::guarded;

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return omptool::safely(0, [] {
    const Cuda& all = omptool::cuda::cuda();
    omptool::fail(all.reason);
    return static_cast<int32_t>(all.devices.size());
  });
}

// The devices are looked at as soon as they are known: to open the driver here would hold registration up. Without any,
// the image stays this plugin's, which says why there are none.
OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  return omptool::safely(0, [&] {
    const auto* const begin = static_cast<const std::byte*>(image->ImageStart);
    const omptool::Bytes bytes{begin, static_cast<const std::byte*>(image->ImageEnd)};
    std::string fault = omptool::compile::fault_of(bytes, "nvptx64", omptool::cuda::fault_of_bytes(bytes));
    if (const Cuda* const known = omptool::cuda::known_cuda(); fault.empty() && known && !known->devices.empty())
      fault = omptool::cuda::fault_of(bytes, known->capabilities(), known->driver.version);
    omptool::fail(fault);
    return fault.empty() ? 1 : 0;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_init_device(int32_t device_id) {
  return guarded(device_id, 1, [](Device&) { return 0; });
}

OMPTOOL_RTL_EXPORT tgt_target_table* __tgt_rtl_load_binary(int32_t device_id, __tgt_device_image* image) {
  return __tgt_rtl_load_indirect(device_id, image, nullptr);
}

OMPTOOL_RTL_EXPORT tgt_target_table* __tgt_rtl_load_indirect(int32_t device_id, __tgt_device_image* image,
                                                             const int64_t* extents) {
  return guarded(device_id, static_cast<tgt_target_table*>(nullptr), [&](Device& device) {
    const std::ptrdiff_t count = extents ? image->EntriesEnd - image->EntriesBegin : 0;
    return device.load(image, {extents, static_cast<std::size_t>(count)});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_unload_binary(int32_t device_id, __tgt_device_image* image) {
  return guarded(device_id, 1, [&](Device& device) { return device.unload(image); });
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_data_alloc(int32_t device_id, int64_t size) {
  return guarded(device_id, static_cast<void*>(nullptr),
                 [&](Device& device) { return reinterpret_cast<void*>(device.allocate(size)); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_submit(int32_t device_id, void* target_ptr, void* host_ptr, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.submit(target_ptr, host_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.retrieve(host_ptr, target_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_delete(int32_t device_id, void* target_ptr) {
  return guarded(device_id, 1, [&](Device& device) { return device.release(target_ptr); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.fill(target_ptr, value, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_exchange(int32_t from_device_id, void* source_ptr, int32_t to_device_id,
                                                   void* target_ptr, int64_t size) {
  return guarded(from_device_id, 1, [&](Device& from) {
    return guarded(to_device_id, 1, [&](Device& to) { return to.receive(target_ptr, from, source_ptr, size); });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_target_region(int32_t device_id, void* target_entry_ptr,
                                                       void** target_vars_ptr, int32_t arg_num) {
  return __tgt_rtl_run_target_team_region(device_id, target_entry_ptr, target_vars_ptr, arg_num, 1, 1);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t device_id, void* target_entry_ptr,
                                                            void** target_vars_ptr, int32_t arg_num, int32_t num_teams,
                                                            int32_t thread_limit) {
  const tgt_launch_shape shape = omptool::cuda::shape_of(num_teams, thread_limit);
  return __tgt_rtl_run_shaped(device_id, target_entry_ptr, target_vars_ptr, arg_num, &shape);
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                                int32_t arg_num, const tgt_launch_shape* shape) {
  return guarded(device_id, 1, [&](Device& device) {
    return device.run(target_entry_ptr, {target_vars_ptr, arg_num}, omptool::cuda::known_part(*shape));
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_shares_host_memory(int32_t) {
  return 0;
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_is_addressable(int32_t) {
  return 0;
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_reaches_host_memory(int32_t device_id) {
  return omptool::cuda::of_device(device_id, 0, [](Device& device) { return device.reaches_host_memory() ? 1 : 0; });
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_memory_alloc(int32_t device_id, int64_t size, int32_t kind) {
  return guarded(device_id, static_cast<void*>(nullptr), [&](Device& device) -> void* {
    if (kind == OMPTARGET_MEMORY_DEVICE)
      return reinterpret_cast<void*>(device.allocate(size));
    if (kind == OMPTARGET_MEMORY_HOST || kind == OMPTARGET_MEMORY_SHARED)
      return device.host_memory().allocate(size, kind);
    omptool::fail("there is no memory of kind " + std::to_string(kind));
    return nullptr;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_free(int32_t device_id, void* memory, int32_t kind) {
  return guarded(device_id, 1, [&](Device& device) {
    return kind == OMPTARGET_MEMORY_DEVICE ? device.release(memory) : device.host_memory().release(memory, kind);
  });
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_host_lock(int32_t device_id, void* host_ptr, int64_t size) {
  return guarded(device_id, static_cast<void*>(nullptr),
                 [&](Device& device) { return device.host_memory().lock(host_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_host_unlock(int32_t device_id, void* host_ptr) {
  return guarded(device_id, 1, [&](Device& device) { return device.host_memory().unlock(host_ptr); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_describe_device(int32_t device_id, tgt_device_description* description) {
  return omptool::cuda::of_device(device_id, 1, [&](Device& device) {
    tgt_device_description known{};
    const int32_t result = device.describe(known);
    if (result == 0)
      omptool::answer(known, *description);
    return result;
  });
}

OMPTOOL_RTL_EXPORT const char* __tgt_rtl_last_error(void) {
  const char* const reason = omptool::last_error.data();
  return *reason ? reason : nullptr;
}

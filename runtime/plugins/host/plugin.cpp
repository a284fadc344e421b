// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.host.so: the target RTL interface (omptarget_rtl.h) over the CPU.
//
//   OMPTOOL_HOST_DEVICES=N       N devices instead of one
//   OMPTOOL_HOST_MEMORY=shared   host memory is device memory: nothing is copied
//   OMPTOOL_HOST_QUEUES=1        programs go through the asynchronous functions, and every copy through the plugin
//   OMPTOOL_HOST_IN_FLIGHT=N     as many operations of those run at once, not 64
//   OMPTOOL_KEEP_IMAGES=DIR      a copy of each loaded image is left in DIR
//   OMPTOOL_CACHE_DIR=DIR        what is compiled of bitcode is kept in DIR
#include "omptarget_rtl.h"

#include "compile/compiled.h"
#include "host.h"
#include "kernels/current_state.h"

using omptool::host::Device;
using omptool::host::guarded;

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  omptool::fail(""); // if there is none, that is what was asked for
  return omptool::host::device_count();
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  return omptool::safely(0, [&] {
    const auto* const begin = static_cast<const std::byte*>(image->ImageStart);
    const omptool::Bytes bytes{begin, static_cast<const std::byte*>(image->ImageEnd)};
    const char* const other = omptool::host::fault_of(bytes);
    const std::string fault = omptool::compile::fault_of(bytes, "x86_64", other ? other : "");
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
  return guarded(device_id, static_cast<void*>(nullptr), [&](Device& device) { return device.allocate(size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_submit(int32_t device_id, void* target_ptr, void* host_ptr, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.copy(target_ptr, host_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_retrieve(int32_t device_id, void* host_ptr, void* target_ptr, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.copy(host_ptr, target_ptr, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_delete(int32_t device_id, void* target_ptr) {
  return guarded(device_id, 1, [&](Device& device) { return device.release(target_ptr); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_target_region(int32_t device_id, void* target_entry_ptr,
                                                       void** target_vars_ptr, int32_t arg_num) {
  return guarded(device_id, 1,
                 [&](Device& device) { return device.run(target_entry_ptr, target_vars_ptr, arg_num, {1, 1}); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_target_team_region(int32_t device_id, void* target_entry_ptr,
                                                            void** target_vars_ptr, int32_t arg_num, int32_t num_teams,
                                                            int32_t thread_limit) {
  return guarded(device_id, 1, [&](Device& device) {
    return device.run(target_entry_ptr, target_vars_ptr, arg_num, omptool::host::shape_of(num_teams, thread_limit));
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_run_shaped(int32_t device_id, void* target_entry_ptr, void** target_vars_ptr,
                                                int32_t arg_num, const tgt_launch_shape* shape) {
  return guarded(device_id, 1, [&](Device& device) {
    const std::optional<omptool::host::Shape> known = omptool::host::shape_of(*shape);
    return known ? device.run(target_entry_ptr, target_vars_ptr, arg_num, *known) : OMPTARGET_RTL_NOT_STARTED;
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_kernels_make_teams(int32_t) {
  return 1;
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_shares_host_memory(int32_t) {
  return omptool::host::memory_is_shared();
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_is_addressable(int32_t) {
  return 1;
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_moves_like_memmove(int32_t) {
  return !omptool::host::queues_are_wanted();
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_in_kernel(void) {
  return omptool::host::current.kernel != nullptr;
}

OMPTOOL_RTL_EXPORT const char* __tgt_rtl_last_error(void) {
  const char* const reason = omptool::last_error.data();
  return *reason ? reason : nullptr;
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptarget.rtl.host.so: the target RTL interface (omptarget_rtl.h) over the CPU.
//
//   OMPTOOL_HOST_DEVICES=N       N devices instead of one
//   OMPTOOL_HOST_MEMORY=shared   host memory is device memory: nothing is copied
//   OMPTOOL_KEEP_IMAGES=DIR      a copy of each loaded image is left in DIR
#include "omptarget_rtl.h"

#include "device.h"
#include "error.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <vector>

#define OMPTOOL_RTL_EXPORT extern "C" __attribute__((visibility("default")))

namespace omptool::host {

namespace {

constexpr long kMostDevices = 256;

// One process's devices. A child of fork() gets new ones: the pool's threads are not in it.
struct Host {
  Host* parents = nullptr; // of the process that forked this one; never looked into
  Pool pool;
  std::vector<std::unique_ptr<Device>> devices;
};

std::int32_t device_count() {
  static const std::int32_t count = [] {
    const char* value = ::secure_getenv("OMPTOOL_HOST_DEVICES");
    if (!value || !*value)
      return 1;
    char* end = nullptr;
    errno = 0;
    const long number = std::strtol(value, &end, 10);
    if (errno == 0 && *end == '\0' && number >= 0 && number <= kMostDevices)
      return static_cast<std::int32_t>(number);
    std::fprintf(stderr, "omptarget: OMPTOOL_HOST_DEVICES=%s is not a number from 0 to %ld; 1 is used\n", value,
                 kMostDevices);
    return 1;
  }();
  return count;
}

bool memory_is_shared() {
  static const bool shared = [] {
    const char* value = ::secure_getenv("OMPTOOL_HOST_MEMORY");
    const bool wanted = value && !std::strcmp(value, "shared");
    if (value && *value && !wanted && std::strcmp(value, "separate"))
      std::fprintf(stderr, "omptarget: OMPTOOL_HOST_MEMORY=%s is not shared or separate; separate is used\n", value);
    return wanted;
  }();
  return shared;
}

std::atomic<Host*> the_host{nullptr};
std::atomic<Host*> the_parents{nullptr};

void forget_after_fork() {
  if (Host* left = the_host.exchange(nullptr))
    the_parents = left;
}

[[gnu::noinline, gnu::cold]] Host& make_host() {
  static std::once_flag watching;
  std::call_once(watching, [] { ::pthread_atfork(nullptr, nullptr, forget_after_fork); });
  // Never destroyed: threads may still run kernels while the process exits.
  auto made = std::make_unique<Host>();
  made->parents = the_parents;
  for (std::int32_t i = 0; i < device_count(); ++i)
    made->devices.push_back(std::make_unique<Device>(i, made->pool));
  Host* known = nullptr;
  if (the_host.compare_exchange_strong(known, made.get()))
    return *made.release();
  return *known;
}

Host& host() {
  Host* const known = the_host.load(std::memory_order_acquire);
  return known ? *known : make_host();
}

[[gnu::noinline, gnu::cold]] void fail_for_device(std::int32_t device_id) {
  fail("there is no device " + std::to_string(device_id));
}
// Runs `body(device)`; a device that does not exist, or an exception, is a failure with a reason.
template <typename Body, typename Result>
Result guarded(std::int32_t device_id, Result failed, const Body& body) noexcept {
  try {
    Host& all = host();
    if (device_id >= 0 && static_cast<std::size_t>(device_id) < all.devices.size())
      return body(*all.devices[static_cast<std::size_t>(device_id)]);
    fail_for_device(device_id);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return failed;
}

} // namespace
} // namespace omptool::host

using omptool::host::Device;
using omptool::host::guarded;

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_number_of_devices(void) {
  return omptool::host::device_count();
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_is_valid_binary(__tgt_device_image* image) {
  const auto* const begin = static_cast<const std::byte*>(image->ImageStart);
  const char* const fault = omptool::host::fault_of({begin, static_cast<const std::byte*>(image->ImageEnd)});
  omptool::host::fail(fault ? fault : "");
  return fault == nullptr;
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
  const std::int32_t all = static_cast<std::int32_t>(omptool::host::Pool::hardware_threads());
  return guarded(device_id, 1, [&](Device& device) {
    return device.run(target_entry_ptr, target_vars_ptr, arg_num,
                      {num_teams > 0 ? num_teams : all, thread_limit > 0 ? thread_limit : 1});
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_shares_host_memory(int32_t) {
  return omptool::host::memory_is_shared();
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_is_addressable(int32_t) {
  return 1;
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_moves_like_memmove(int32_t) {
  return 1;
}

OMPTOOL_RTL_EXPORT const char* __tgt_rtl_last_error(void) {
  const char* const reason = omptool::host::last_error.data();
  return *reason ? reason : nullptr;
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_memory.h"

#include "message.h"

#include <cstring>

namespace omptool {

std::byte* DeviceMemory::allocate(std::int64_t size) const {
  return size > 0 ? static_cast<std::byte*>(plugin_.call().data_alloc(rtl_id_, size)) : nullptr;
}

bool DeviceMemory::submit(void* device, const void* host, std::int64_t size) const {
  return plugin_.call().data_submit(rtl_id_, device, const_cast<void*>(host), size) == 0;
}

bool DeviceMemory::retrieve(void* host, const void* device, std::int64_t size) const {
  return plugin_.call().data_retrieve(rtl_id_, host, const_cast<void*>(device), size) == 0;
}

bool DeviceMemory::free(void* device) const {
  return plugin_.call().data_delete(rtl_id_, device) == 0;
}

void DeviceMemory::release(void* device, const void* host, std::int64_t size) const {
  if (!free(device))
    die("plugin %s could not free device memory of the object at %p (%lld bytes)%s", plugin_.name().c_str(), host,
        static_cast<long long>(size), plugin_.last_error().c_str());
}

bool DeviceMemory::shares_host_memory() const {
  if (plugin_.call().shares_host_memory)
    return plugin_.call().shares_host_memory(rtl_id_) != 0;
  constexpr char kSent[16] = "omptool's probe";
  char received[sizeof kSent] = {};
  std::byte* there = allocate(sizeof kSent);
  if (!there)
    return false;
  const bool moved = submit(there, kSent, sizeof kSent) && retrieve(received, there, sizeof received);
  const bool arrived = std::memcmp(kSent, received, sizeof kSent) == 0;
  free(there);
  return moved && !arrived;
}

} // namespace omptool

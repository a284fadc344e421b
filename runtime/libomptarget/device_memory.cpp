// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_memory.h"

#include "message.h"
#include "ompt.h"

#include <cstdlib>
#include <cstring>

namespace omptool {

std::byte* DeviceMemory::allocate(std::int64_t size, const void* host) const {
  if (size <= 0)
    return nullptr;
  ompt::DataOperation told(ompt::Operation::kAlloc, {host, ompt::kHost}, {nullptr, number_}, size);
  auto* const memory = static_cast<std::byte*>(inactive_ ? std::malloc(static_cast<std::size_t>(size))
                                                         : plugin_.call().data_alloc(rtl_id_, size));
  told.found(memory);
  return memory;
}

bool DeviceMemory::submit(void* device, const void* host, std::int64_t size) const {
  const ompt::DataOperation told(ompt::Operation::kTo, {host, ompt::kHost}, {device, number_}, size);
  if (moves_itself_) {
    std::memmove(device, host, static_cast<std::size_t>(size));
    return true;
  }
  return plugin_.call().data_submit(rtl_id_, device, const_cast<void*>(host), size) == 0;
}

bool DeviceMemory::retrieve(void* host, const void* device, std::int64_t size) const {
  const ompt::DataOperation told(ompt::Operation::kFrom, {device, number_}, {host, ompt::kHost}, size);
  if (moves_itself_) {
    std::memmove(host, device, static_cast<std::size_t>(size));
    return true;
  }
  return plugin_.call().data_retrieve(rtl_id_, host, const_cast<void*>(device), size) == 0;
}

bool DeviceMemory::free(void* device) const {
  const ompt::DataOperation told(ompt::Operation::kDelete, {device, number_}, {nullptr, ompt::kNowhere}, 0);
  if (inactive_) {
    std::free(device);
    return true;
  }
  return plugin_.call().data_delete(rtl_id_, device) == 0;
}

void DeviceMemory::release(void* device, const void* host, std::int64_t size, const std::string& region) const {
  if (!free(device))
    die("%s%s%splugin %s could not free device memory of the object at %p (%lld bytes)%s",
        region.empty() ? "" : "region ", region.c_str(), region.empty() ? "" : ": ", plugin_.name().c_str(), host,
        static_cast<long long>(size), plugin_.last_error().c_str());
}

bool DeviceMemory::is_addressable() const {
  return inactive_ || (plugin_.call().memory_is_addressable && plugin_.call().memory_is_addressable(rtl_id_) != 0);
}

bool DeviceMemory::shares_host_memory() {
  const auto moves_like_memmove = plugin_.call().moves_like_memmove;
  moves_itself_ = moves_like_memmove && moves_like_memmove(rtl_id_) != 0;
  const bool says_so = plugin_.call().shares_host_memory && plugin_.call().shares_host_memory(rtl_id_) != 0;
  if (plugin_.call().shares_host_memory && !says_so)
    return false;
  constexpr char kSent[16] = "omptool's probe";
  char received[sizeof kSent] = {};
  std::byte* there = allocate(sizeof kSent);
  if (!there)
    return says_so;
  const bool moved = submit(there, kSent, sizeof kSent) && retrieve(received, there, sizeof received);
  const bool arrived = std::memcmp(kSent, received, sizeof kSent) == 0;
  free(there);
  inactive_ = moved && !arrived;
  moves_itself_ = moves_itself_ || inactive_;
  return says_so || inactive_;
}

} // namespace omptool

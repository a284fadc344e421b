// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plugins/device_memory.h"

#include "process/message.h"

#include <cstdlib>
#include <cstring>

namespace omptool {

using Operation = observe::Operation::Kind;

std::byte* DeviceMemory::allocate_heard(std::int64_t size, const void* host) const {
  observe::Operation told = observe::begin({Operation::kAllocate, number_, host, nullptr, size});
  std::byte* const memory = allocate_now(size);
  told.there = memory;
  observe::end(told, memory != nullptr);
  return memory;
}

bool DeviceMemory::submit_heard(void* device, const void* host, std::int64_t size) const {
  observe::Operation told = observe::begin({Operation::kToDevice, number_, host, device, size});
  const bool done = submit_now(device, host, size);
  observe::end(told, done);
  return done;
}

bool DeviceMemory::retrieve_heard(void* host, const void* device, std::int64_t size) const {
  observe::Operation told = observe::begin({Operation::kFromDevice, number_, host, device, size});
  const bool done = retrieve_now(host, device, size);
  observe::end(told, done);
  return done;
}

bool DeviceMemory::free_heard(void* device) const {
  observe::Operation told = observe::begin({Operation::kFree, number_, nullptr, device});
  const bool done = free_now(device);
  observe::end(told, done);
  return done;
}

void DeviceMemory::release(void* device, const void* host, std::int64_t size, const std::string& region) const {
  if (!free(device))
    say("%s%s%splugin %s could not free device memory of the object at %p (%lld bytes)%s",
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
  if (!free(there))
    say("plugin %s could not free device memory of a probe%s", plugin_.name().c_str(), last_error().c_str());
  inactive_ = moved && !arrived;
  moves_itself_ = moves_itself_ || inactive_;
  return says_so || inactive_;
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/device_memory.h"

#include "process/message.h"
#include "rtl/launch_shape.h"

namespace omptool {

void DeviceMemory::tell_of_leak(const void* host, std::int64_t size, std::string_view region) const {
  say("%s%s%splugin %s could not free device memory of the object at %p (%lld bytes)%s",
      region.empty() ? "" : "region ", std::string(region).c_str(), region.empty() ? "" : ": ", rtl_.name().c_str(),
      host, static_cast<long long>(size), rtl_.last_error().c_str());
}

bool DeviceMemory::submit_by_rtl(void* device, const void* host, std::int64_t size) const {
  return !is_lost() && took(call().data_submit(rtl_id_, device, const_cast<void*>(host), size));
}

bool DeviceMemory::retrieve_by_rtl(void* host, const void* device, std::int64_t size) const {
  return !is_lost() && took(call().data_retrieve(rtl_id_, host, const_cast<void*>(device), size));
}

void DeviceMemory::note_loss() const {
  const std::string why = rtl_.last_error();
  if (!lost_.exchange(true))
    say("device %d (%s) is lost%s", number_, rtl_.name().c_str(), why.c_str());
}

void DeviceMemory::discard(Discarded memory) const {
  const std::lock_guard lock(discarding_);
  discarded_.push_back(std::move(memory));
  any_discarded_.store(true, std::memory_order_release);
}

void DeviceMemory::free_discarded_now() const {
  std::vector<Discarded> gone;
  {
    const std::lock_guard lock(discarding_);
    gone.swap(discarded_);
    any_discarded_.store(false, std::memory_order_relaxed);
  }
  for (const Discarded& one : gone)
    if (one.device)
      release(one.device, one.host, one.size, one.region);
}

bool DeviceMemory::shares_host_memory() {
  moves_itself_ = says(call().moves_like_memmove);
  chains_ = rtl_.has_queues() && says(call().prefers_queues, true) && !moves_itself_;
  takes_shapes_ = takes_compilers_shapes(call(), rtl_id_);
  const bool says_so = says(call().shares_host_memory);
  if (call().shares_host_memory && !says_so)
    return false;
  constexpr char kSent[16] = "omptool's probe";
  char received[sizeof kSent] = {};
  std::byte* there = allocate(sizeof kSent);
  if (!there)
    return says_so;
  const bool moved = submit(there, kSent, sizeof kSent) && retrieve(received, there, sizeof received);
  const bool arrived = std::memcmp(kSent, received, sizeof kSent) == 0;
  if (!free(there))
    say("plugin %s could not free the %zu bytes by which the runtime probed device %d%s", rtl_.name().c_str(),
        sizeof kSent, number_, last_error().c_str());
  if (!moved || arrived)
    return says_so;
  inactive_ = moves_itself_ = true;
  chains_ = false; // copies are made at once
  return true;
}

} // namespace omptool

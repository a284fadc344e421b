// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/device_memory.h"

#include "process/message.h"
#include "rtl/launch_shape.h"

#include <cstdlib>
#include <cstring>

namespace omptool {

using Kind = observe::Operation::Kind;

std::byte* DeviceMemory::allocate_heard(std::int64_t size, const void* host) const {
  observe::Operation reported = observe::begin({Kind::kAllocate, number_, host, nullptr, size});
  std::byte* const memory = allocate_now(size);
  reported.there = memory;
  observe::end(reported, memory != nullptr);
  return memory;
}

bool DeviceMemory::submit_heard(void* device, const void* host, std::int64_t size) const {
  observe::Operation reported = observe::begin({Kind::kToDevice, number_, host, device, size});
  const bool done = submit_now(device, host, size);
  observe::end(reported, done);
  return done;
}

bool DeviceMemory::retrieve_heard(void* host, const void* device, std::int64_t size) const {
  observe::Operation reported = observe::begin({Kind::kFromDevice, number_, host, device, size});
  const bool done = retrieve_now(host, device, size);
  observe::end(reported, done);
  return done;
}

bool DeviceMemory::free_heard(void* device) const {
  observe::Operation reported = observe::begin({Kind::kFree, number_, nullptr, device});
  const bool done = free_now(device);
  observe::end(reported, done);
  return done;
}

void DeviceMemory::tell_of_leak(const void* host, std::int64_t size, std::string_view region) const {
  say("%s%s%splugin %s could not free device memory of the object at %p (%lld bytes)%s",
      region.empty() ? "" : "region ", std::string(region).c_str(), region.empty() ? "" : ": ", rtl_.name().c_str(),
      host, static_cast<long long>(size), rtl_.last_error().c_str());
}

bool DeviceMemory::submit_by_rtl(void* device, const void* host, std::int64_t size) const {
  return !is_lost() && took(rtl_.call().data_submit(rtl_id_, device, const_cast<void*>(host), size));
}

bool DeviceMemory::retrieve_by_rtl(void* host, const void* device, std::int64_t size) const {
  return !is_lost() && took(rtl_.call().data_retrieve(rtl_id_, host, const_cast<void*>(device), size));
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

bool DeviceMemory::is_addressable() const {
  return inactive_ || (rtl_.call().memory_is_addressable && rtl_.call().memory_is_addressable(rtl_id_) != 0);
}

bool DeviceMemory::shares_host_memory() {
  const auto prefers_queues = rtl_.call().prefers_queues;
  chains_ = rtl_.has_queues() && (!prefers_queues || prefers_queues(rtl_id_) != 0);
  const auto moves_like_memmove = rtl_.call().moves_like_memmove;
  moves_itself_ = moves_like_memmove && moves_like_memmove(rtl_id_) != 0;
  chains_ = chains_ && !moves_itself_;
  takes_shapes_ = takes_compilers_shapes(rtl_.call(), rtl_id_);
  const bool says_so = rtl_.call().shares_host_memory && rtl_.call().shares_host_memory(rtl_id_) != 0;
  if (rtl_.call().shares_host_memory && !says_so)
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
  inactive_ = moved && !arrived;
  moves_itself_ = moves_itself_ || inactive_;
  chains_ = chains_ && !moves_itself_; // copies are made at once
  return says_so || inactive_;
}

} // namespace omptool

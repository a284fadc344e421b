// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/device_memory.h"

#include "process/message.h"
#include "region_name.h"
#include "rtl/launch_shape.h"

#include <algorithm>
#include <array>
#include <memory>

namespace omptool {
namespace {

// Memory of the host for copies from one device to another: page-locked, where one of them has such memory.
std::shared_ptr<void> host_buffer(const DeviceMemory& to, const DeviceMemory& from, std::int64_t size) {
  for (const DeviceMemory* one : {&from, &to})
    if (const auto memory_alloc = one->call().memory_alloc)
      if (void* const locked = memory_alloc(one->rtl_id(), size, OMPTARGET_MEMORY_HOST))
        return {locked, [one](void* memory) { // what it cannot free is lost
                  one->call().memory_free(one->rtl_id(), memory, OMPTARGET_MEMORY_HOST);
                }};
  return std::make_shared<std::byte[]>(static_cast<std::size_t>(size));
}

} // namespace

void DeviceMemory::tell_of_leak(const void* host, std::int64_t size, std::string_view region) const {
  say("%s%s%splugin %s could not free device memory of the object at %p (%lld bytes)%s",
      region.empty() ? "" : "region ", region_name(region).c_str(), region.empty() ? "" : ": ", rtl_.name().c_str(),
      host, static_cast<long long>(size), rtl_.last_error().c_str());
}

bool DeviceMemory::move_by_rtl(Mover mover, void* to, const void* from, std::int64_t size) const {
  return !is_lost() && took((call().*mover)(rtl_id_, to, const_cast<void*>(from), size));
}

void DeviceMemory::note_loss() const {
  const std::string why = rtl_.last_error();
  if (!lost_.exchange(true))
    say("device %d (%s) is lost%s", number_, rtl_.name().c_str(), why.c_str());
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

void DeviceMemory::guard_objects(bool is_shared) {
  const bool has_own = !is_shared && says(call().memory_is_addressable);
  observe::MemoryGuard* const guard = observe::memory_guard();
  if (guard && guard->guards(number_, has_own ? held_locks::pointer_to(call().in_kernel) : nullptr))
    guard_ = guard;
}

// Fills, copies between devices and of rectangles: by the plugin's own function where it has one that does it, else by
// those that every plugin has.

// ---- fills ----

bool DeviceMemory::fill(void* device, int value, std::int64_t size) const {
  return reported(Kind::kFill, nullptr, device, size, [&] {
    if (moves_itself_) {
      std::memset(device, value, static_cast<std::size_t>(size));
      return true;
    }
    if (const auto data_fill = call().data_fill)
      if (const std::optional<bool> done = try_now(data_fill, rtl_id_, device, value, size))
        return *done;
    std::array<unsigned char, 4096> pattern;
    pattern.fill(static_cast<unsigned char>(value));
    constexpr auto kMost = static_cast<std::int64_t>(pattern.size());
    for (std::int64_t at = 0; at < size; at += kMost)
      if (!move_now(kSubmit, static_cast<std::byte*>(device) + at, pattern.data(), std::min(size - at, kMost)))
        return false;
    return true;
  });
}

// ---- between devices ----

bool DeviceMemory::copy_from(void* device, const DeviceMemory& other, const void* source, std::int64_t size) const {
  const auto work = [&] {
    if (moves_itself_ && other.moves_itself_) {
      std::memmove(device, source, static_cast<std::size_t>(size));
      return true;
    }
    if (const auto data_exchange = call().data_exchange; data_exchange && &rtl_ == &other.rtl_)
      if (const std::optional<bool> done =
              try_now(data_exchange, other.rtl_id_, const_cast<void*>(source), rtl_id_, device, size))
        return *done;
    return copy_through_host(device, other, source, size);
  };
  return reported(Kind::kBetweenDevices, source, device, size, work, other.number_);
}

bool DeviceMemory::copy_through_host(void* device, const DeviceMemory& other, const void* source,
                                     std::int64_t size) const {
  constexpr std::int64_t kMost = 1 << 20;
  const std::shared_ptr<void> buffer = host_buffer(*this, other, std::min(size, kMost));
  for (std::int64_t at = 0; at < size; at += kMost) {
    const std::int64_t piece = std::min(size - at, kMost);
    if (!other.move_now(kRetrieve, buffer.get(), static_cast<const std::byte*>(source) + at, piece) ||
        !move_now(kSubmit, static_cast<std::byte*>(device) + at, buffer.get(), piece))
      return false;
  }
  return true;
}

// ---- rectangles ----

bool DeviceMemory::copies_rectangles(const DeviceMemory* to, const DeviceMemory* from) {
  const DeviceMemory* const one = to ? to : from;
  return one && one->call().data_copy_rectangle && !one->moves_itself_ && (!to || !from || &to->rtl_ == &from->rtl_);
}

std::optional<bool> DeviceMemory::copy_rectangle(const DeviceMemory* to, void* target, const DeviceMemory* from,
                                                 const void* source, const tgt_rectangle& rectangle) {
  const DeviceMemory& one = to ? *to : *from;
  std::optional<bool> done;
  const auto work = [&] {
    done = one.try_now(one.call().data_copy_rectangle, from ? from->rtl_id_ : OMPTARGET_RTL_HOST,
                       const_cast<void*>(source), to ? to->rtl_id_ : OMPTARGET_RTL_HOST, target, &rectangle);
    return done.value_or(false);
  };
  const auto size = static_cast<std::int64_t>(rectangle.width * rectangle.rows * rectangle.planes);
  if (observe::MemoryGuard* const guard = to ? to->guard_.load() : nullptr)
    guard->note_use(target,
                    (rectangle.planes - 1) * rectangle.target_plane + (rectangle.rows - 1) * rectangle.target_row +
                        rectangle.width,
                    true);
  const Kind kind = !to ? Kind::kFromDevice : from ? Kind::kBetweenDevices : Kind::kToDevice;
  one.reported(kind, to ? source : target, to ? target : source, size, work, to && from ? from->number_ : -1);
  return done;
}

} // namespace omptool

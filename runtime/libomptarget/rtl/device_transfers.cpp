// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills, copies between devices and of rectangles: by the plugin's own function where it has one that does it, else by
// those that every plugin has.
#include "rtl/device_memory.h"

#include <algorithm>
#include <array>

namespace omptool {

namespace {

// Memory of the host for copies from one device to another: page-locked, where one of them has such memory.
class HostBuffer {
public:
  HostBuffer(const DeviceMemory& to, const DeviceMemory& from, std::int64_t size) {
    for (const DeviceMemory* one : {&from, &to})
      if (!locked_ && one->call().memory_alloc) {
        locked_ = one->call().memory_alloc(one->rtl_id(), size, OMPTARGET_MEMORY_HOST);
        owner_ = one;
      }
    if (!locked_)
      plain_.resize(static_cast<std::size_t>(size));
  }
  ~HostBuffer() {
    if (locked_)
      owner_->call().memory_free(owner_->rtl_id(), locked_, OMPTARGET_MEMORY_HOST); // what it cannot free is lost
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  void* bytes() const { return locked_ ? locked_ : const_cast<std::byte*>(plain_.data()); }

private:
  const DeviceMemory* owner_ = nullptr;
  void* locked_ = nullptr;
  std::vector<std::byte> plain_;
};

// Returns the outcome of a plugin's optional function. Nothing: the fallback is to do it.
std::optional<bool> outcome_of(std::int32_t result) {
  return result == OMPTARGET_RTL_NOT_STARTED ? std::nullopt : std::optional(result == 0);
}

} // namespace

// ---- fills ----

bool DeviceMemory::fill(void* device, int value, std::int64_t size) const {
  return reported(Kind::kFill, nullptr, device, size, [&] { return fill_now(device, value, size); });
}

bool DeviceMemory::fill_now(void* device, int value, std::int64_t size) const {
  if (moves_itself_) {
    std::memset(device, value, static_cast<std::size_t>(size));
    return true;
  }
  if (const auto data_fill = call().data_fill)
    if (const std::optional<bool> done = outcome_of(data_fill(rtl_id_, device, value, size)))
      return *done;
  std::array<unsigned char, 4096> pattern;
  pattern.fill(static_cast<unsigned char>(value));
  constexpr auto kMost = static_cast<std::int64_t>(pattern.size());
  for (std::int64_t at = 0; at < size; at += kMost)
    if (!submit_now(static_cast<std::byte*>(device) + at, pattern.data(), std::min(size - at, kMost)))
      return false;
  return true;
}

// ---- between devices ----

bool DeviceMemory::copy_from(void* device, const DeviceMemory& other, const void* source, std::int64_t size) const {
  return reported(
      Kind::kBetweenDevices, source, device, size, [&] { return copy_now(device, other, source, size); },
      other.number_);
}

bool DeviceMemory::copy_now(void* device, const DeviceMemory& other, const void* source, std::int64_t size) const {
  if (moves_itself_ && other.moves_itself_) {
    std::memmove(device, source, static_cast<std::size_t>(size));
    return true;
  }
  if (const auto data_exchange = call().data_exchange; data_exchange && &rtl_ == &other.rtl_)
    if (const std::optional<bool> done =
            outcome_of(data_exchange(other.rtl_id_, const_cast<void*>(source), rtl_id_, device, size)))
      return *done;
  return copy_through_host(device, other, source, size);
}

bool DeviceMemory::copy_through_host(void* device, const DeviceMemory& other, const void* source,
                                     std::int64_t size) const {
  constexpr std::int64_t kMost = 1 << 20;
  const HostBuffer buffer(*this, other, std::min(size, kMost));
  for (std::int64_t at = 0; at < size; at += kMost) {
    const std::int64_t piece = std::min(size - at, kMost);
    if (!other.retrieve_now(buffer.bytes(), static_cast<const std::byte*>(source) + at, piece) ||
        !submit_now(static_cast<std::byte*>(device) + at, buffer.bytes(), piece))
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
    done =
        outcome_of(one.call().data_copy_rectangle(from ? from->rtl_id_ : OMPTARGET_RTL_HOST, const_cast<void*>(source),
                                                  to ? to->rtl_id_ : OMPTARGET_RTL_HOST, target, &rectangle));
    return done.value_or(false);
  };
  const auto size = static_cast<std::int64_t>(rectangle.width * rectangle.rows * rectangle.planes);
  if (!to)
    one.reported(Kind::kFromDevice, target, source, size, work);
  else if (from)
    one.reported(Kind::kBetweenDevices, source, target, size, work, from->number_);
  else
    one.reported(Kind::kToDevice, source, target, size, work);
  return done;
}

} // namespace omptool

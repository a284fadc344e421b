// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The optional functions of omptarget_rtl.h for memory. Memory of every kind is the host's here, and every device
// reaches all of it.
#include "host.h"

#include <algorithm>
#include <cstring>

namespace omptool::host {
namespace {

// Calls `body` on two devices, of which one may be the host.
template <typename Body> std::int32_t guarded_pair(std::int32_t first, std::int32_t second, const Body& body) noexcept {
  if (first == OMPTARGET_RTL_HOST)
    std::swap(first, second);
  return guarded(
      first, 1, [&](Device& device) { return second == OMPTARGET_RTL_HOST ? body(device) : guarded(second, 1, body); });
}

void copy_rectangle(std::byte* target, const std::byte* source, const tgt_rectangle& all) {
  for (std::uint64_t plane = 0; plane < all.planes; ++plane)
    for (std::uint64_t row = 0; row < all.rows; ++row)
      std::memcpy(target + plane * all.target_plane + row * all.target_row,
                  source + plane * all.source_plane + row * all.source_row, all.width);
}

bool is_kind(std::int32_t kind) {
  const bool known =
      kind == OMPTARGET_MEMORY_DEVICE || kind == OMPTARGET_MEMORY_HOST || kind == OMPTARGET_MEMORY_SHARED;
  if (!known)
    fail("there is no memory of kind " + std::to_string(kind));
  return known;
}

} // namespace
} // namespace omptool::host

using omptool::host::Device;
using omptool::host::guarded;

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_fill(int32_t device_id, void* target_ptr, int32_t value, int64_t size) {
  return guarded(device_id, 1, [&](Device& device) { return device.fill(target_ptr, value, size); });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_exchange(int32_t from_device_id, void* source_ptr, int32_t to_device_id,
                                                   void* target_ptr, int64_t size) {
  return guarded(from_device_id, 1, [&](Device&) {
    return guarded(to_device_id, 1, [&](Device& to) { return to.copy(target_ptr, source_ptr, size); });
  });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_data_copy_rectangle(int32_t from_device_id, void* source_ptr, int32_t to_device_id,
                                                         void* target_ptr, const tgt_rectangle* rectangle) {
  return omptool::host::guarded_pair(from_device_id, to_device_id, [&](Device&) -> int32_t {
    if (rectangle->size < sizeof *rectangle) {
      omptool::fail("a rectangle of an earlier interface");
      return OMPTARGET_RTL_NOT_STARTED;
    }
    omptool::host::copy_rectangle(static_cast<std::byte*>(target_ptr), static_cast<const std::byte*>(source_ptr),
                                  *rectangle);
    return 0;
  });
}

OMPTOOL_RTL_EXPORT void* __tgt_rtl_memory_alloc(int32_t device_id, int64_t size, int32_t kind) {
  return guarded(device_id, static_cast<void*>(nullptr),
                 [&](Device& device) { return omptool::host::is_kind(kind) ? device.allocate(size) : nullptr; });
}

OMPTOOL_RTL_EXPORT int32_t __tgt_rtl_memory_free(int32_t device_id, void* memory, int32_t kind) {
  return guarded(device_id, 1,
                 [&](Device& device) { return omptool::host::is_kind(kind) ? device.release(memory) : 1; });
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/private_copies.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace omptool {
namespace {

constexpr std::size_t kAlignment = 64;

} // namespace

bool PrivateCopies::allocate(std::size_t index, const Row& row, void*& argument) {
  Copy& copy = copies_[index];
  // A row of no bytes says nothing in `begin`.
  const void* const begin = row.size == 0 && !row.has(kSection) ? row.base : row.begin;
  // Nothing is allocated where host memory is device memory, but a private copy is still a copy.
  const bool on_host = device_.data.sharing.any() && !device_.memory.chains();
  copy = {nullptr, begin, std::max<std::int64_t>(row.size, 1), on_host, begin};
  copy.device = copy.on_host ? static_cast<std::byte*>(::operator new(static_cast<std::size_t>(copy.size),
                                                                      std::align_val_t{kAlignment}, std::nothrow))
                             : device_.memory.allocate(copy.size);
  if (!copy.device)
    return false;
  argument =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(copy.device) -
                              (reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(row.base)));
  return true;
}

void PrivateCopies::read(std::size_t index, const Row& row, CommandList& commands) {
  if (row.has(kTo) && row.size > 0)
    copies_[index].source = commands.keep(row.begin, static_cast<std::size_t>(row.size));
}

bool PrivateCopies::fill(std::size_t index, const Row& row, CommandList& commands) {
  const Copy& copy = copies_[index];
  if (!row.has(kTo) || row.size <= 0)
    return true;
  if (!copy.on_host)
    return commands.submit(copy.device, copy.source, row.size);
  std::copy_n(static_cast<const std::byte*>(copy.source), row.size, copy.device);
  return true;
}

bool PrivateCopies::attach(const void* cell, void* value, CommandList& commands) {
  for (const Copy& copy : copies_) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(cell) - reinterpret_cast<std::uintptr_t>(copy.host);
    if (!copy.device || offset > static_cast<std::uintptr_t>(copy.size) ||
        static_cast<std::uintptr_t>(copy.size) - offset < sizeof value)
      continue;
    if (copy.on_host)
      std::memcpy(copy.device + offset, &value, sizeof value);
    else if (!commands.submit(copy.device + offset, commands.keep(&value, sizeof value), sizeof value))
      return false;
  }
  return true;
}

void PrivateCopies::release_all() {
  for (Copy& copy : copies_) {
    std::byte* const device = std::exchange(copy.device, nullptr);
    if (device && !copy.on_host)
      device_.memory.release(device, copy.host, copy.size, region_);
    else if (device)
      ::operator delete(device, std::align_val_t{kAlignment});
  }
}

} // namespace omptool

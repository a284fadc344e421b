// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies the bytes in front of a device image, where linkers put the header of LLVM's container. Nothing has to be
// mapped there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace omptool {

// Returns the bytes from the beginning of the page before `address` up to it; those of its own page alone, or none,
// where the process cannot read more.
inline std::vector<std::byte> bytes_before(const void* address) {
  constexpr std::size_t kPage = 4096; // no system has smaller ones
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::size_t own = at % kPage;
  for (const std::size_t size : {kPage + own, own}) {
    std::vector<std::byte> bytes(size);
    const iovec to{bytes.data(), size}, from{reinterpret_cast<void*>(at - size), size};
    if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(size))
      return bytes;
  }
  return {};
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process's memory, read as a debugger would: that nothing is there is an answer and no crash. Without the
// dynamic linker, and without a lock.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

namespace omptool {

// Result of reading a string. kForbidden: the system forbids access to the memory.
enum class StringAt { kThere, kNotThere, kForbidden };

// Returns kThere if a terminated string of fewer than `most` bytes begins at the address.
inline StringAt string_at(const char* address, std::size_t most) {
  constexpr std::uintptr_t kPage = 4096; // no system has smaller ones
  std::array<char, kPage> bytes;
  for (std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address); most > 0;) {
    const std::size_t piece = std::min<std::size_t>(most, kPage - at % kPage);
    const iovec here{bytes.data(), piece};
    const iovec there{reinterpret_cast<void*>(at), piece};
    if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(piece))
      return errno == EFAULT ? StringAt::kNotThere : StringAt::kForbidden;
    if (std::memchr(bytes.data(), '\0', piece))
      return StringAt::kThere;
    at += piece;
    most -= piece;
  }
  return StringAt::kNotThere;
}

} // namespace omptool

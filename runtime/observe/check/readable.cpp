// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check/readable.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/uio.h>
#include <unistd.h>

namespace omptool::check {
namespace {

constexpr std::size_t kAtOnce = 512;        // the system takes 1024 at most
constexpr std::size_t kMostPages = 1 << 18; // of a range: each costs some 100 ns
constexpr std::uintptr_t kPage = 4096;      // no system has smaller ones

} // namespace

std::optional<std::uintptr_t> first_unreadable(HostRange range) {
  if (range.end <= range.begin)
    return std::nullopt;
  const std::uintptr_t pages = (range.end - range.begin) / kPage + 1;
  const std::uintptr_t step = kPage * ((pages + kMostPages - 1) / kMostPages);
  std::uintptr_t next = range.begin;
  while (next < range.end) {
    std::array<iovec, kAtOnce> there;
    std::array<std::byte, kAtOnce> bytes;
    std::size_t count = 0;
    for (; count < kAtOnce && next < range.end; ++count) {
      there[count] = {reinterpret_cast<void*>(next), 1};
      const std::uintptr_t last = range.end - 1; // which is looked at, too
      next = next == last ? range.end : std::min(next / kPage * kPage + step, last);
    }
    const iovec here{bytes.data(), count};
    const ssize_t read = ::process_vm_readv(::getpid(), &here, 1, there.data(), count, 0);
    if (read < 0 && errno != EFAULT)
      return std::nullopt;
    if (const auto done = static_cast<std::size_t>(std::max<ssize_t>(read, 0)); done < count)
      return reinterpret_cast<std::uintptr_t>(there[done].iov_base);
  }
  return std::nullopt;
}

} // namespace omptool::check

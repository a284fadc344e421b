// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process's memory, read as a debugger would: that nothing is there is an answer and no crash. Without the
// dynamic linker, and without a lock.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace omptool {

class OwnMemory {
public:
  enum class String { kThere, kNotThere, kForbidden };
  // Returns kThere if a terminated string of fewer than `most` bytes begins there. kForbidden: the system lets nobody
  // look.
  String string_at(const char* address, std::size_t most) {
    std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address);
    while (most > 0) {
      const std::uintptr_t offset = at % kPage;
      if (const String page = fetch(at - offset); page != String::kThere)
        return page;
      const std::size_t piece = std::min<std::size_t>(most, kPage - offset);
      if (std::memchr(bytes_.data() + offset, '\0', piece))
        return String::kThere;
      at += piece;
      most -= piece;
    }
    return String::kNotThere;
  }

private:
  static constexpr std::uintptr_t kPage = 4096; // no system has smaller ones
  String fetch(std::uintptr_t page) {
    if (page == fetched_ && !bytes_.empty())
      return String::kThere;
    bytes_.resize(kPage);
    fetched_ = page;
    const iovec here{bytes_.data(), kPage};
    const iovec there{reinterpret_cast<void*>(page), kPage};
    if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(kPage))
      return String::kThere;
    bytes_.clear();
    return errno == EFAULT ? String::kNotThere : String::kForbidden;
  }

  std::uintptr_t fetched_ = 0; // the page that bytes_ holds; strings lie side by side
  std::vector<char> bytes_;
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/own_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

namespace omptool {

OwnMemory::String OwnMemory::fetch(std::uintptr_t page) {
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

OwnMemory::String OwnMemory::string_at(const char* address, std::size_t most) {
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

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process's memory, read as a debugger would: that nothing is there is an answer and no crash. Without the
// dynamic linker, and without a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omptool {

class OwnMemory {
public:
  enum class String { kThere, kNotThere, kForbidden };
  // Returns kThere if a terminated string of fewer than `most` bytes begins there. kForbidden: the system lets nobody
  // look.
  String string_at(const char* address, std::size_t most);

private:
  static constexpr std::uintptr_t kPage = 4096; // no system has smaller ones
  String fetch(std::uintptr_t page);

  std::uintptr_t fetched_ = 0; // the page that bytes_ holds; strings lie side by side
  std::vector<char> bytes_;
};

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An open file, and bytes in and out of it.
#pragma once

#include "bytes.h"

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace omptool {

class File {
public:
  explicit File(int number) : number_(number) {}
  ~File() {
    if (number_ >= 0)
      ::close(number_);
  }
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  // Forgets a descriptor that another owner closes.
  void forget() { number_ = -1; }

  bool write(Bytes bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(number_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
  }

  // Fills `room`; false where the file ends before, or cannot be read.
  bool read(std::span<std::byte> room) const {
    while (!room.empty()) {
      const ssize_t count = ::read(number_, room.data(), room.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return false;
      room = room.subspan(static_cast<std::size_t>(count));
    }
    return true;
  }

private:
  int number_;
};

} // namespace omptool

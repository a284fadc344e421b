// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory with an image, or with both ends of one that is larger than the memory.
#pragma once

#include "exported.h"

#include <cstdint>

// Image in a buffer: the image's start has six eighths of the memory, its end the last eighth, and the bytes between
// them pass through the eighth that remains. helper.py has the same layout.
template <class Byte> struct Image {
  Byte* begin;
  std::uint64_t room, size;

  bool is_whole() const { return size <= room; }
  std::uint64_t head() const { return is_whole() ? size : room - room / 4; }
  std::uint64_t tail() const { return is_whole() ? 0 : room / 8; }
  Byte* tail_begin() const { return begin + (room - tail()); }

  void expect_inside(std::uint64_t at, std::uint64_t length) const { expect(at <= size && length <= size - at); }

  // Returns where in memory bytes of the image are, which must be of one of its ends.
  Byte* part(std::uint64_t at, std::uint64_t length) const {
    expect_inside(at, length);
    if (at + length <= head())
      return begin + at;
    expect(at >= size - tail());
    return tail_begin() + (at - (size - tail()));
  }
};

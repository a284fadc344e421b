// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string_view>

namespace omptool {

// Returns how many bytes at the beginning of `text`, which is not empty, are one character of UTF-8 (RFC 3629) that a
// terminal shows; 0: the first byte is none.
inline std::size_t character_at(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80)
    return first >= ' ' && first != 0x7f;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > text.size())
    return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  const unsigned char second = byte(1);
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  const bool is_control = first == 0xc2 && second < 0xa0;
  return is_overlong || is_no_character || is_control ? 0 : length;
}

} // namespace omptool

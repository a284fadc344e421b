// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes texts of programs as JSON.
#pragma once

#include "process/characters.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace omptool::observe {

// Returns what stands between the quotes of a JSON string. Characters of UTF-8 stay as they are; a byte that is part of
// none becomes U+FFFD.
inline std::string json_text(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_at(text);
    const char first = text.front();
    const auto byte = static_cast<unsigned char>(first);
    if (length > 0 && first != '"' && first != '\\' && first != '<')
      out += text.substr(0, length);
    else if (byte < 0x80)
      out.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    else
      out += "\\ufffd";
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

} // namespace omptool::observe

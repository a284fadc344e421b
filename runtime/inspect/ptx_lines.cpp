// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For packager/formats/device_images/compiled.py: where lines of PTX may be directives.
#include "exported.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace {

constexpr std::string_view kFirstLetters = "vi we co en ta ad";

} // namespace

// Writes to `out` at which newlines of PTX a line with a directive of ptx.py may begin: behind blanks a dot, and their
// first letters. Returns how many there are; -1: more than there is room for.
OMPTOOL_EXPORTED omptool_ptx_lines(const char* text, std::uint64_t size, std::uint64_t* out,
                                   std::uint64_t room) noexcept {
  std::uint64_t found = 0;
  const char* const end = text + size;
  for (const char* at = text;
       (at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)))) != nullptr;) {
    const char* const line = at++;
    at = std::find_if(at, end, [](char one) { return one != ' ' && one != '\t'; });
    if (end - at < 3 || *at != '.' || kFirstLetters.find(std::string_view(at + 1, 2)) == kFirstLetters.npos)
      continue;
    if (found == room)
      return -1;
    out[found++] = static_cast<std::uint64_t>(line - text);
  }
  return static_cast<std::int64_t>(found);
}

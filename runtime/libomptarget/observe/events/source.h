// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace omptool::observe {

// Returns "file:line:column" of clang's ";file;function;line;column;;", or "" without debug information.
inline std::string place_of(std::string_view source) {
  std::array<std::string_view, 5> parts{}; // what is before the first semicolon is empty
  for (std::string_view& part : parts) {
    part = source.substr(0, source.find(';'));
    source.remove_prefix(std::min(part.size() + 1, source.size()));
  }
  const auto& [before, file, function, line, column] = parts;
  if (file.empty() || file == "unknown" || line.empty() || line == "0")
    return {};
  return std::string(file) + ":" + std::string(line) + ":" + std::string(column);
}

} // namespace omptool::observe

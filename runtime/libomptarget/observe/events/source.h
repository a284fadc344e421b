// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace omptool::observe {

// Returns the parts between the semicolons of what clang says, which begins with one.
inline std::array<std::string_view, 4> parts_of(std::string_view source) {
  std::array<std::string_view, 4> parts{};
  for (std::string_view& part : parts) {
    source.remove_prefix(std::min<std::size_t>(source.size(), 1));
    part = source.substr(0, source.find(';'));
    source.remove_prefix(part.size());
  }
  return parts;
}

// Returns "file:line:column" of clang's ";file;function;line;column;;", or "" without debug information.
inline std::string place_of(std::string_view source) {
  const auto [file, function, line, column] = parts_of(source);
  if (file.empty() || file == "unknown" || line.empty() || line == "0")
    return {};
  return std::string(file) + ":" + std::string(line) + ":" + std::string(column);
}

} // namespace omptool::observe

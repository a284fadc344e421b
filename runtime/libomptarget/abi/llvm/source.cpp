// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/source.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace omptool::llvm {
namespace {

// The parts between semicolons; the string begins with one.
using Parts = std::array<std::string_view, 4>;

Parts split(std::string_view source) {
  Parts parts;
  for (std::string_view& part : parts) {
    source.remove_prefix(std::min<std::size_t>(source.size(), 1));
    part = source.substr(0, source.find(';'));
    source.remove_prefix(part.size());
  }
  return parts;
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1)); // npos + 1 is 0
}

} // namespace

Place place_of(const Location* construct) {
  return place_of_construct(construct ? construct->source : nullptr);
}

Place place_of_construct(const char* source) {
  if (!source)
    return {};
  const auto [file, function, line, column] = split(source);
  return {std::string(function), base_name(file), std::string(line), std::string(column)};
}

Place place_of(const char* mapped) {
  if (!mapped)
    return {};
  const std::string_view all = mapped;
  if (all.find(';') == all.npos)
    return {std::string(all), "unknown", "0", "0"};
  const auto [name, file, line, column] = split(all);
  return {std::string(name), base_name(file), std::string(line), std::string(column)};
}

} // namespace omptool::llvm

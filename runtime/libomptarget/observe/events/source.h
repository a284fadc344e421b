// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the texts in which compilers name constructs and mapped variables.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace omptool::observe {

// Returns the parts of clang's source text between its semicolons. The text begins with one.
inline std::array<std::string_view, 4> parts_of(std::string_view source) {
  std::array<std::string_view, 4> parts{};
  for (std::string_view& part : parts) {
    source.remove_prefix(std::min<std::size_t>(source.size(), 1));
    part = source.substr(0, source.find(';'));
    source.remove_prefix(part.size());
  }
  return parts;
}

// Flang 22 writes its module's name, which is the same in every program, where clang has a construct's file.
inline constexpr std::string_view kFlangsModule = "FIRModule";

// Returns file, function, line and column of a construct. Where flang hides the file, the function is there, too.
inline std::array<std::string_view, 4> parts_of_construct(std::string_view source) {
  std::array<std::string_view, 4> parts = parts_of(source);
  if (parts[0] == kFlangsModule)
    parts[0] = parts[1];
  return parts;
}

// Returns "file:line:column" of clang's ";file;function;line;column;;", or "" without debug information. Of flang's
// constructs, "function:line:column".
inline std::string place_of(std::string_view source) {
  const auto [file, function, line, column] = parts_of_construct(source);
  if (file.empty() || file == "unknown" || line.empty() || line == "0")
    return {};
  return std::string(file) + ":" + std::string(line) + ":" + std::string(column);
}

// Returns the source place of a text, or "" if flang left the file out: debug information has the file for the call's
// address.
inline std::string place_with_file(std::string_view source) {
  return parts_of(source)[0] == kFlangsModule ? std::string() : place_of(source);
}

// Returns whether a part names a source file: by a path, or by a suffix of Fortran's. `next` is the part behind it. A
// slash alone is not enough: clang's name of a variable is the expression, such as "a[n/2:n]".
inline bool is_source_file(std::string_view part, std::string_view next) {
  constexpr std::string_view kSuffixes[] = {"f", "for", "f77", "f90", "f95", "f03", "f08", "f18", "ftn", "fpp", "cuf"};
  if (part.starts_with('/') || part.starts_with("./") || part.starts_with("../"))
    return true;
  std::string suffix(part.substr(part.rfind('.') + 1)); // npos + 1 is 0
  for (char& c : suffix)
    c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (suffix.size() < part.size() &&
      std::find(std::begin(kSuffixes), std::end(kSuffixes), suffix) != std::end(kSuffixes))
    return true;
  return part.find('/') != part.npos && next.find('.') == next.npos;
}

// Returns name, file, line and column of a mapped variable. Clang writes ";name;file;line;column;;", and flang without
// -g ";file;name;line;column;;".
inline std::array<std::string_view, 4> parts_of_variable(std::string_view mapped) {
  std::array<std::string_view, 4> parts = parts_of(mapped);
  if (is_source_file(parts[0], parts[1]))
    std::swap(parts[0], parts[1]);
  return parts;
}

} // namespace omptool::observe

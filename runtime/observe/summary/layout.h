// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lays out tables for terminals. Widths are in characters of UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace omptool::observe {

struct Table {
  using Row = std::vector<std::string>;
  Row headers; // of names, and then of numbers
  std::vector<Row> rows;
  std::size_t spare = 0; // the column that a narrow terminal has no place for; 0: none

  std::vector<std::string> lines(std::size_t width) const;
};

// Returns the names in at most `room` characters each. Removes first the arguments of functions and templates, then the
// first scopes, and then the middle. Names stay different if there is room for that.
std::vector<std::string> fitted(const std::vector<std::string>& names, std::size_t room);

// Formats a value in three digits and a unit: "12.3 ms", "64 B", "1.00 GB".
std::string time_text(double nanoseconds);
std::string bytes_text(double bytes);

} // namespace omptool::observe

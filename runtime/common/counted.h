// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats numbers in messages, with the word for the counted things.
#pragma once

#include <concepts>
#include <string>

namespace omptool {

// Returns a counted noun: "1 entry", "2 entries", "0 devices".
template <std::integral Number> std::string counted(Number number, std::string one) {
  if (number != 1 && one.ends_with("ry"))
    one.replace(one.size() - 1, 1, "ies");
  else if (number != 1)
    one += 's';
  return std::to_string(number) + " " + one;
}

// "there is 1 device", "there are 2 devices".
template <std::integral Number> std::string there_are(Number number, const std::string& one) {
  return (number == 1 ? "there is " : "there are ") + counted(number, one);
}

} // namespace omptool

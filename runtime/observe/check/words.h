// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats the checker's data for messages.
#pragma once

#include "host_range.h"
#include "observe/events/source.h"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace omptool::check {

// "64,800 bytes".
inline std::string bytes(std::int64_t count) {
  constexpr std::size_t kGroup = 3;
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % kGroup == 0)
      text += ',';
    text += digits[i];
  }
  return text + (count == 1 ? " byte" : " bytes");
}
inline std::string hex(std::uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%lx", address);
  return text;
}
inline std::string range_text(HostRange range) {
  return bytes(range.size()) + " at " + hex(range.begin);
}
// Returns the number as the program may have written it: of 4 and 8 bytes, a floating-point one where the integer would
// be far from 0.
inline std::string number_text(std::uint64_t bits, std::size_t size) {
  constexpr std::uint64_t kFar32 = std::uint64_t{1} << 24, kFar64 = std::uint64_t{1} << 48;
  const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
  const auto number = static_cast<std::int64_t>(bits << unused) >> unused;
  const std::uint64_t distance = number < 0 ? -static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  char text[32];
  if (size == sizeof(float) && distance >= kFar32)
    std::snprintf(text, sizeof text, "%g", static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  else if (size == sizeof(double) && distance >= kFar64)
    std::snprintf(text, sizeof text, "%g", std::bit_cast<double>(bits));
  else
    return std::to_string(number);
  return text;
}
inline std::string or_memory(std::string_view variable) {
  return variable.empty() ? "memory" : std::string(variable);
}
// Returns " at file:line:column", if the place is known.
inline std::string at(std::string_view source) {
  const std::string place = observe::place_of(source);
  return place.empty() ? "" : " at " + place;
}

} // namespace omptool::check

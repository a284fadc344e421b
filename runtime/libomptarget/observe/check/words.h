// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts what the checker knows into the words of its messages.
#pragma once

#include "host_range.h"
#include "observe/events/source.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace omptool::check {

inline std::string bytes(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}
inline std::string hex(std::uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%lx", address);
  return text;
}
inline std::string range_text(HostRange range) {
  return bytes(range.size()) + " at " + hex(range.begin);
}
inline std::string or_memory(std::string_view variable) {
  return variable.empty() ? "memory" : std::string(variable);
}
// " at file:line:column", where that is known.
inline std::string at(std::string_view source) {
  const std::string place = observe::place_of(source);
  return place.empty() ? "" : " at " + place;
}

} // namespace omptool::check

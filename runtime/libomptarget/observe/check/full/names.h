// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "observe/events/events.h"

#include <string_view>

namespace omptool::check {

// Returns the name of the argument of a call that begins at an address, as clang says it (";name;file;line;column;;");
// "" where nobody says it.
inline std::string_view variable_at(const observe::Call& call, const void* begin) {
  const observe::Arguments& arguments = call.arguments;
  for (std::uint32_t i = 0; arguments.begin && arguments.names && i < arguments.count; ++i) {
    if (arguments.begin[i] != begin || !arguments.names[i])
      continue;
    const std::string_view name(static_cast<const char*>(arguments.names[i]));
    const std::size_t from = name.find_first_not_of(';');
    if (from != std::string_view::npos && !name.substr(from).starts_with("unknown;"))
      return name.substr(from, name.find(';', from) - from);
  }
  return {};
}

} // namespace omptool::check

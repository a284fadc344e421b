// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "check/variables.h"
#include "observe/events/events.h"

#include <string_view>

namespace omptool::check {

// Returns the compiler's name of the argument of a call that begins at an address; "" where it has none.
inline std::string_view variable_at(const observe::Call& call, const void* begin) {
  const observe::Arguments& arguments = call.arguments;
  for (std::uint32_t i = 0; arguments.begin && arguments.names && i < arguments.count; ++i) {
    if (arguments.begin[i] != begin)
      continue;
    if (const std::string_view name = name_in(arguments.names[i]); !name.empty())
      return name;
  }
  return {};
}

} // namespace omptool::check

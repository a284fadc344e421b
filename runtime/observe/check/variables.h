// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the variables of a construct by where they begin.
#pragma once

#include "observe/events/events.h"
#include "observe/events/source.h"

#include <string_view>
#include <utility>
#include <vector>

namespace omptool::check {

// Returns the name in a compiler's text about a mapped variable, which lives as long as that; "": there is none.
inline std::string_view name_in(const void* text) {
  const std::string_view all = text ? static_cast<const char*>(text) : "";
  if (!all.starts_with(';'))
    return {};
  const std::string_view name = observe::parts_of_variable(all)[0];
  return name == "unknown" ? std::string_view() : name;
}

// Returns the variable that begins at an address, or "" without debug information. Of a structure and its first member,
// returns the member. Valid during the call.
inline std::string_view variable_of(const observe::Arguments& arguments, const void* begin) {
  for (std::uint32_t i = arguments.begin && arguments.names ? arguments.count : 0; i-- > 0;)
    if (arguments.begin[i] == begin)
      if (const std::string_view name = name_in(arguments.names[i]); !name.empty())
        return name;
  return {};
}

// Keeps the arguments of a call for a construct that may go on when the call has returned.
class KeptArguments {
public:
  explicit KeptArguments(const observe::Arguments& arguments) {
    if (!arguments.begin || !arguments.names)
      return;
    begin_.assign(arguments.begin, arguments.begin + arguments.count);
    names_.assign(arguments.names, arguments.names + arguments.count);
  }
  observe::Arguments arguments() const {
    return {static_cast<std::uint32_t>(begin_.size()), begin_.data(), names_.data()};
  }

private:
  std::vector<void*> begin_, names_; // the names themselves are the program's own
};

} // namespace omptool::check

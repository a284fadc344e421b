// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variables of a construct, by where they begin.
#pragma once

#include "observe/events/events.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace omptool::check {

class Names {
public:
  Names() = default;
  explicit Names(const observe::Arguments& arguments) {
    for (std::uint32_t i = 0; arguments.begin && arguments.names && i < arguments.count; ++i)
      if (std::string name = name_in(static_cast<const char*>(arguments.names[i])); !name.empty())
        known_.emplace_back(arguments.begin[i], std::move(name));
  }
  // "": the program has no debug information. Of a structure and its first member, the member.
  std::string_view of(const void* begin) const {
    std::string_view found;
    for (const auto& [there, name] : known_)
      if (there == begin)
        found = name;
    return found;
  }

private:
  // Of clang's ";name;file;line;column;;".
  static std::string name_in(const char* text) {
    const std::string_view all = text ? text : "";
    if (!all.starts_with(';'))
      return {};
    const std::string_view name = all.substr(1, all.find(';', 1) - 1);
    return name == "unknown" ? std::string() : std::string(name);
  }
  std::vector<std::pair<const void*, std::string>> known_;
};

} // namespace omptool::check

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps names as a file has them, which many events need. For one thread at a time.
#pragma once

#include "trace/record.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omptool::trace {

class Texts {
public:
  using Make = std::string (*)(std::string_view name);
  Texts(Names& names, Make make) : names_(names), make_(make) {}

  // Text of a number, valid until the next call.
  const std::string& of(std::uint32_t number) {
    if (number >= made_.size())
      made_.resize(number + 1);
    std::optional<std::string>& made = made_[number];
    if (!made)
      made = make_(names_.text(number));
    return *made;
  }

private:
  Names& names_;
  const Make make_;
  std::vector<std::optional<std::string>> made_;
};

} // namespace omptool::trace

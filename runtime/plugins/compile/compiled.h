// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images left as LLVM's IR: `omptool lower` makes of them what a plugin loads, when they are first used, for the
// device at hand. What it makes is kept in a cache (cache.h).
#pragma once

#include "bytes.h"

#include <string>
#include <string_view>
#include <vector>

namespace omptool::compile {

// Why no image for this architecture (the first part of a triple) can be made of it here, or "". Of what is no
// bitcode: `other`. Starts nothing.
std::string fault_of(Bytes image, std::string_view arch, std::string_view other);

struct Target {
  std::string triple;
  std::string cpu;      // as --cpu takes it
  std::string identity; // what more tells its devices apart, where `cpu` does not
};

// The image itself, or what has been made of its bitcode.
struct Compiled {
  Bytes bytes;
  std::string fault; // why there is nothing, or ""
  std::vector<std::byte> made;
};
Compiled compiled(Bytes image, const Target& target);

} // namespace omptool::compile

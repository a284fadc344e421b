// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images left as LLVM's IR: when such an image is first used, `omptool lower` compiles it for the device at hand into
// what the plugin loads. A cache (cache.h) keeps the result.
#pragma once

#include "bytes.h"

#include <string>
#include <string_view>
#include <vector>

namespace omptool::compile {

// Returns why no image for this architecture (the first part of a triple) can be made of `image` here, or "". Returns
// `other` for bytes that are no bitcode. Starts no process.
std::string fault_of(Bytes image, std::string_view arch, std::string_view other);

struct Target {
  std::string triple;
  std::string cpu;      // as for --cpu
  std::string identity; // distinguishes devices with one `cpu`
};

// Compiled code: the image itself, or the result of compiling its bitcode.
struct Compiled {
  Bytes bytes;
  std::string fault; // why there is nothing, or ""
  std::vector<std::byte> made;
};
Compiled compiled(Bytes image, const Target& target);

} // namespace omptool::compile

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The line that LIBOMPTARGET_INFO=16 asks for at a launch, in the words of LLVM's plugins (abi-facts.md, 10.1).
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace omptool {

using Dimensions = std::array<std::uint64_t, 3>;

// Launch size in the words of LLVM's plugin. `in_dimensions`: the program is of LLVM 20 or later, whose plugins print
// each dimension. Earlier plugins print products.
inline std::string launch_words(const Dimensions& blocks, const Dimensions& threads, bool in_dimensions) {
  const auto words = [&](const Dimensions& each) {
    if (!in_dimensions)
      return std::to_string(each[0] * each[1] * each[2]);
    return "[" + std::to_string(each[0]) + "," + std::to_string(each[1]) + "," + std::to_string(each[2]) + "]";
  };
  return words(blocks) + " blocks and " + words(threads) + " threads";
}

inline std::string launch_line(std::int32_t device, const std::string& kernel, const std::string& words,
                               const char* mode) {
  return "\"PluginInterface\" device " + std::to_string(device) + " info: Launching kernel " + kernel + " with " +
         words + " in " + mode + " mode";
}

// Returns whether the user asks plugins for the line.
inline bool tells_launches() {
  static const bool tells = [] {
    constexpr long long kLaunches = 0x10;
    const char* const value = ::secure_getenv("LIBOMPTARGET_INFO");
    return value && (std::strtoll(value, nullptr, 0) & kLaunches);
  }();
  return tells;
}

} // namespace omptool

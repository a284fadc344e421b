// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The line that LIBOMPTARGET_INFO=16 asks for at a launch, in the words of LLVM's plugins (abi-facts.md, 10.1). Only
// the plugin knows how many teams and threads there are.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace omptool {

inline void tell_launch(std::int32_t device, const std::string& kernel, std::uint64_t teams, std::uint64_t threads,
                        const char* mode) {
  static const bool tells = [] {
    constexpr long long kLaunches = 0x10;
    const char* const value = ::secure_getenv("LIBOMPTARGET_INFO");
    return value && (std::strtoll(value, nullptr, 0) & kLaunches);
  }();
  if (tells)
    std::fprintf(
        stderr,
        "\"PluginInterface\" device %d info: Launching kernel %s with %llu blocks and %llu threads in %s mode\n",
        device, kernel.c_str(), static_cast<unsigned long long>(teams), static_cast<unsigned long long>(threads), mode);
}

} // namespace omptool

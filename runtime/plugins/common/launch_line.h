// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the line that LIBOMPTARGET_INFO=16 asks for at a launch.
#pragma once

#include "launch_words.h"

#include <cstdint>
#include <cstdio>
#include <string>

namespace omptool {

// Prints the line about a launch: the plugin alone has the final numbers of teams and threads. `device` is the plugin's
// device number.
inline void tell_launch(std::int32_t device, const std::string& kernel, const std::string& words, const char* mode) {
  std::fprintf(stderr, "%s\n", launch_line(device, kernel, words, mode).c_str());
}

} // namespace omptool

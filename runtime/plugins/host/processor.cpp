// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "processor.h"

#include <array>
#include <fstream>
#include <string_view>

namespace omptool::host {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t at = line.find(": "); at != std::string::npos)
        return line.substr(at + 2);
  return {};
}

std::string processor_identity() {
  constexpr std::array<std::string_view, 4> kTelling{"vendor_id", "cpu family", "model", "flags"};
  std::ifstream file("/proc/cpuinfo");
  std::string identity;
  for (std::string line; std::getline(file, line) && !line.empty();) // the first, of processors that are alike
    for (const std::string_view name : kTelling)
      if (line.starts_with(name))
        identity += line + "\n";
  return identity;
}

} // namespace omptool::host

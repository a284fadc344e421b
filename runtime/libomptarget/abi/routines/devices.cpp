// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serves calls that LLVM's programs make before any library has registered: all devices get numbers, and each describes
// itself in the lines of LLVM 22's plugins.
#include "abi/exports.h"
#include "offload/offload.h"
#include "process/default_device.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omptool {
namespace {

struct Line {
  std::string_view key;
  std::string value;
};

// Adds no line for a value that is not known: 0 or "".
void add(std::vector<Line>& lines, std::string_view key, std::string_view value) {
  if (!value.empty())
    lines.push_back({key, std::string(value)});
}
void add(std::vector<Line>& lines, std::string_view key, std::uint64_t value, std::string_view unit = "") {
  if (value != 0)
    lines.push_back({key, std::to_string(value) + std::string(unit)});
}

bool takes(const tgt_device_description& device, std::string_view kind) {
  return std::string_view(device.images).find(kind) != std::string_view::npos;
}

void add_described(std::vector<Line>& lines, const tgt_device_description& device, std::int32_t rtl_id) {
  if (takes(device, "cubin")) {
    add(lines, "CUDA Driver Version", device.driver);
    lines.push_back({"CUDA OpenMP Device Number", std::to_string(rtl_id)});
  } else {
    add(lines, "Device Type", takes(device, "ELF") ? "Generic-elf-64bit" : "");
    add(lines, "Driver Version", device.driver);
  }
  add(lines, "Device Name", device.name);
  add(lines, "Global Memory Size", device.memory, " bytes");
  add(lines, "Number of Multiprocessors", device.units);
  add(lines, "Max Shared Memory per Block", device.team_memory, " bytes");
  add(lines, "Maximum Threads per Block", device.threads);
  add(lines, "Compute Capabilities", device.architecture);
}

// Programs find a key by the blanks that follow it: four at least, as on LLVM's.
std::string information(const Device& device) {
  constexpr std::size_t kMargin = 4;
  std::vector<Line> lines;
  if (const std::optional<tgt_device_description> said = device.rtl.describe(device.rtl_id))
    add_described(lines, *said, device.rtl_id);
  add(lines, "UID", device.uid);
  std::size_t longest = 0;
  for (const Line& line : lines)
    longest = std::max(longest, line.key.size());
  std::string text;
  for (const Line& line : lines)
    text.append(kMargin, ' ').append(line.key).append(longest - line.key.size() + kMargin, ' ').append(line.value) +=
        '\n';
  return text;
}

// Gives `take` the device's lines. 0 where LLVM's runtime aborts: there is no such device.
template <typename Take> int describe(const char* function, std::int64_t number, const Take& take) {
  return guarded(function, [&] {
    if (number < 0 || number >= number_of_devices())
      return 0;
    const std::string text = information(*Registry::current()->device(static_cast<int>(number)));
    take(text.data(), text.size());
    return 1;
  });
}

} // namespace

extern "C" {

// Devices are initialised when they are first used, and never given up.
OMPTOOL_EXPORT void __tgt_rtl_init() {}
OMPTOOL_EXPORT void __tgt_rtl_deinit() {}
OMPTOOL_EXPORT void __tgt_init_all_rtls() {
  guarded(__func__, [] {
    look_for_libomp_again();
    Registry::obtain().number_all();
  });
}

OMPTOOL_EXPORT int __tgt_print_device_info(std::int64_t number) {
  return describe(__func__, number, [](const char* text, std::size_t size) {
    std::fwrite(text, 1, size, stdout);
    std::fflush(stdout);
  });
}

// PyOMP's own, an addition to LLVM's.
OMPTOOL_EXPORT int __tgt_get_device_info(std::int32_t number, void (*take)(const char* text, std::size_t size)) {
  return take ? describe(__func__, number, take) : 0;
}
}
} // namespace omptool

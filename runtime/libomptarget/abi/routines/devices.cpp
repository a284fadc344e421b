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
#include <string>
#include <string_view>
#include <vector>

namespace omptool {
namespace {

// Of a number that is not known: "".
std::string number(std::uint64_t value, const char* unit = "") {
  return value != 0 ? std::to_string(value) + unit : std::string();
}

struct Line {
  std::string_view key;
  std::string value; // "": not known, and not told
};

std::vector<Line> lines_of(const Device& device) {
  const tgt_device_description said = device.rtl.describe(device.rtl_id).value_or(tgt_device_description{});
  const std::string_view images = said.images;
  const bool is_cuda = images.find("cubin") != images.npos;
  const bool is_cpu = !is_cuda && images.find("ELF") != images.npos;
  return {{"CUDA Driver Version", is_cuda ? said.driver : ""},
          {"CUDA OpenMP Device Number", is_cuda ? std::to_string(device.rtl_id) : ""},
          {"Device Type", is_cpu ? "Generic-elf-64bit" : ""},
          {"Driver Version", is_cuda ? "" : said.driver},
          {"Device Name", said.name},
          {"Global Memory Size", number(said.memory, " bytes")},
          {"Number of Multiprocessors", number(said.units)},
          {"Max Shared Memory per Block", number(said.team_memory, " bytes")},
          {"Maximum Threads per Block", number(said.threads)},
          {"Compute Capabilities", said.architecture},
          {"UID", device.uid}};
}

// Programs find a key by the blanks that follow it: four at least, as on LLVM's.
std::string information(const Device& device) {
  constexpr std::size_t kMargin = 4;
  std::vector<Line> lines = lines_of(device);
  std::erase_if(lines, [](const Line& line) { return line.value.empty(); });
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

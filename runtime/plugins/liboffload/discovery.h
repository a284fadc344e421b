// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GPUs that liboffload has, and why it has none.
#pragma once

#include "library.h"

#include <cstdint>
#include <string>
#include <vector>

namespace omptool::liboffload {

struct Found {
  ol_device device;
  ol_platform platform;
  std::uint32_t backend;
  std::string architecture; // "gfx90a" for AMD's devices
  std::string name;
  std::string driver;
  std::uint32_t units;
  std::uint64_t memory;
  std::uint64_t team_memory;
  std::uint32_t most_threads; // of a team
  int warp;
  std::int32_t number, count; // among all of them
};

struct Everything {
  std::vector<Found> devices;
  ol_device host = nullptr; // names the host's memory in copies
};
// Finds the devices. `why` becomes the reason if there are none.
Everything find_devices(const Library& library, std::string& why);

// Returns why no GPU of AMD's can be used, by the file of the kernel's driver, or "".
std::string fault_of_node(const char* path);
constexpr char kNode[] = "/dev/kfd";

} // namespace omptool::liboffload

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds usable devices: those of every platform that accept SPIR-V, and share memory with the host in a way that
// kernels can follow addresses.
#pragma once

#include "cl.h"
#include "settings.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace omptool::opencl {

// Found device, with its driver's description.
struct Found {
  cl_platform_id platform;
  cl_device_id device;
  Extensions extensions;
  MemoryKind memory; // not kAny
  bool is_direct;    // the host can access memory of data_alloc
  bool is_cpu;
  bool lists_svm; // each kernel needs the list of allocations that it may access
  bool has_svm_atomics;
  bool reaches_host_memory; // all of it, without a word to the driver
  std::string name;
  std::string driver;
  std::string spirv; // the latest supported version: "SPIR-V_1.4"
  std::uint32_t units;
  std::uint64_t global_memory;
  std::uint64_t largest_block;
  std::uint64_t team_memory;
  std::size_t most_threads; // of a team
  std::int32_t number;      // among all of them
};

// Finds the devices. `why` becomes the reason if there are none, or if some are not used.
std::vector<Found> find_devices(const Loader& loader, std::string& why);

} // namespace omptool::opencl

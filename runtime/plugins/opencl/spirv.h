// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the kernels and the exported variables of a SPIR-V module, and the records of clang's OpenMP about its kernels.
#pragma once

#include "bytes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace omptool::opencl {

enum class Parameter : std::uint8_t { kInteger, kPointer, kOther }; // the first of 64 bits

// Kernel environment: the first numbers of the constant <kernel>_kernel_environment, which clang stores in an image.
struct KernelEnvironment {
  enum Mode : std::uint32_t { kGeneric = 1, kSpmd = 2 }; // bits
  std::size_t numbers = 0;                               // in its first record: clang 22 has one more than later ones
  std::uint32_t mode = 0;
  std::uint32_t most_threads = 0;   // of a team; 0: not set
  std::uint32_t reduction_size = 0; // bytes that a team stores
};

struct EntryPoint {
  std::string name;
  std::vector<Parameter> parameters;
  std::optional<KernelEnvironment> environment = {}; // of clang's OpenMP
};

struct Module {
  std::vector<EntryPoint> kernels; // in the order of OpEntryPoint
  std::vector<std::string> variables;
};

// Returns why the bytes are no SPIR-V module, or null. Looks at the header alone.
const char* fault_of_spirv(Bytes bytes);
// Reads a module whose header is sound. Returns nothing if it is truncated or damaged, because drivers may crash on it.
std::optional<Module> read_spirv(Bytes bytes);

} // namespace omptool::opencl

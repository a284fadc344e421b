// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the kernels and the exported variables of a SPIR-V module.
#pragma once

#include "bytes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace omptool::opencl {

enum class Parameter : std::uint8_t { kInteger, kPointer, kOther }; // the first of 64 bits

struct EntryPoint {
  std::string name;
  std::vector<Parameter> parameters;
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

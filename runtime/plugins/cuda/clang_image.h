// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prepares a loaded image of clang's OpenMP code for nvptx: sets the device environment, and runs constructors and
// destructors of variables.
#pragma once

#include "driver/context.h"
#include "gpu/clang_kernel.h"
#include "image_kind.h"
#include "omptarget_rtl.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace omptool::cuda {

using namespace gpu;

// Indirect entry: a function or virtual table that host code names by its host address.
struct IndirectEntry {
  const char* name;
  std::uint64_t host;
  std::uint64_t size;  // bytes there
  CUdeviceptr pointer; // the variable that has the device's address
};

// A loaded image, as its variables and functions are found by name. Each function is false, with last_error set, where
// the driver fails.
class ClangImage {
public:
  ClangImage(const Context& context, CUmodule module) : context_(context), module_(module) {}

  // Sets the image's device environment, if the image has one. `number` is the device's number among `count`.
  bool set_environment(const DeviceLimits& device, std::int32_t number, std::int32_t count, bool& is_clangs);
  // Reads what clang stored about a kernel. Sets nothing if `name` is a portable kernel, or one that is called as it
  // is.
  bool read_kernel(const std::string& name, std::optional<ClangKernel>& kernel);
  // Sets the table by which kernels of clang 18 and later find functions of `declare target indirect` by host address,
  // and since clang 22 virtual tables. `table` becomes the table's device memory, or 0, also on failure.
  bool set_indirect_calls(std::span<const IndirectEntry> entries, CUdeviceptr& table);
  // Runs functions of an image by clang 18 or later. `names` are those of its __init_array_object_... or
  // __fini_array_object_....
  bool run_functions(const char* which, const std::vector<std::string>& names);

private:
  bool find(const std::string& name, CUdeviceptr& address, std::size_t& size) const;
  bool read(CUdeviceptr from, void* to, std::size_t size, const std::string& name);
  bool write(CUdeviceptr to, const void* from, std::size_t size, const std::string& name);

  const Context& context_;
  const CUmodule module_;
};

// Names in an image that begin with `prefix`, each once, in the order of the numbers that they end with.
std::vector<std::string> names_with(Bytes image, std::string_view prefix);

} // namespace omptool::cuda

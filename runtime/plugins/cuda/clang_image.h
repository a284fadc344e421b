// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives clang's OpenMP code for nvptx what it needs once its image has been loaded: the device's environment, and the
// constructors and destructors of its variables.
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

// A function or a virtual table, which the host names by its own address.
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

  // Stores what the image wants to know of the device, if it does: `number` is the device's among `count`.
  bool set_environment(const DeviceLimits& device, std::int32_t number, std::int32_t count, bool& is_clangs);
  // Nothing: `name` is a portable kernel, or one that is taken as it is.
  bool read_kernel(const std::string& name, std::optional<ClangKernel>& kernel);
  // Clang 18 and later: kernels find the functions of `declare target indirect`, and since clang 22 virtual tables, by
  // the host's addresses. `table` is the memory that this takes, or 0, whatever is returned.
  bool set_indirect_calls(std::span<const IndirectEntry> entries, CUdeviceptr& table);
  // Clang 18 and later. `names` are those of __init_array_object_..., or __fini_array_object_..., in the image.
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

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel of a loaded image. The host's table has its address.
#pragma once

#include "driver/context.h"
#include "gpu/clang_kernel.h"
#include "region_name.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

namespace omptool::cuda {

using namespace gpu;

class Kernel {
public:
  Kernel(std::string name, CUfunction function, std::optional<ClangKernel> clang)
      : name_(std::move(name)), function_(function), clang_(clang) {}

  const std::string& name() const { return name_; }
  std::string title() const { return region_name(name_); } // in messages
  CUfunction function() const { return function_; }
  // Returns nothing for a portable kernel.
  const std::optional<ClangKernel>& clang() const { return clang_; }
  // Returns the kernel's limits, or null with last_error set if the driver call fails.
  const KernelFacts* facts(const Context& context);
  // Allows blocks more shared memory than the default, by one call of the driver. Returns false, with last_error set,
  // if that fails.
  bool allow_memory(const Context& context, unsigned size);

private:
  const std::string name_;
  const CUfunction function_;
  const std::optional<ClangKernel> clang_;
  std::mutex mutex_;
  KernelFacts facts_;
  std::atomic<bool> is_known_{false};
  unsigned allowed_ = 48U << 10; // bytes, dynamic
};

} // namespace omptool::cuda

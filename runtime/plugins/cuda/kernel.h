// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of a loaded image: what the host's table has as its address.
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
  // Nothing: a portable one.
  const std::optional<ClangKernel>& clang() const { return clang_; }
  // Null, with last_error set: the driver does not tell.
  const KernelFacts* facts(const Context& context);
  // Blocks may have more memory of their own than is usual: says so to the driver, once. False, with last_error set.
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

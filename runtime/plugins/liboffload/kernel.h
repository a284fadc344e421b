// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of a loaded image, and its way into a queue.
#pragma once

#include "common/device.h"
#include "discovery.h"
#include "gpu/launch_environment.h"
#include "region_name.h"

#include <optional>
#include <string>
#include <vector>

namespace omptool::liboffload {

class Kernel {
public:
  Kernel(std::string name, ol_symbol symbol, std::optional<gpu::ClangKernel> clang)
      : name_(std::move(name)), symbol_(symbol), clang_(clang) {}

  const std::string& name() const { return name_; }
  std::string title() const { return region_name(name_); } // in messages
  ol_symbol symbol() const { return symbol_; }
  // Returns nothing for a portable kernel.
  const std::optional<gpu::ClangKernel>& clang() const { return clang_; }

private:
  const std::string name_;
  const ol_symbol symbol_;
  const std::optional<gpu::ClangKernel> clang_;
};

// Launch that has passed all checks that need no call of the library.
struct Launch {
  const Kernel* kernel;
  gpu::Grid grid;
  std::vector<void*> values;
  gpu::MemoryPromise memory;
  bool names_dimensions; // in the line for the user
};

// Launcher: the parts of a device that a launch uses.
struct Launcher {
  const Library& library;
  const Found& found;
  ol_device host;
  ol_context context;
};

// Prepares a launch. Returns nothing, with last_error set, if the kernel cannot run in this shape.
std::optional<Launch> prepare(const Found& found, void* handle, plugin::Arguments arguments,
                              const tgt_launch_shape* shape);
// Queues the kernel and returns null. Else: the kernel certainly does not begin, and `call` names what failed. `lent`
// is memory that the caller releases when the kernel has ended, or null, whatever is returned.
ol_result start(const Launcher& launcher, Launch& launch, ol_queue queue, void*& lent, const char*& call);

} // namespace omptool::liboffload

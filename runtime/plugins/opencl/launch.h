// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of an image's kernels: each is what a table's entry points at.
#pragma once

#include "common/device.h"
#include "common/launch_shape.h"
#include "memory.h"
#include "spirv.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace omptool::opencl {

class Kernel {
public:
  // One that cannot be made stays, and says why when it is launched. No parameters: they are not known.
  Kernel(const Loader& cl, const Found& found, Memory& memory, cl_program program, std::string name,
         const std::vector<Parameter>* parameters);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  const std::string& title() const { return title_; } // in messages
  std::string launch_call() const { return "clEnqueueNDRangeKernel of " + title_; }
  void* handle() { return this; }

  // 0: it is queued. Else OMPTARGET_RTL_NOT_STARTED, and last_error says why.
  std::int32_t launch(cl_command_queue queue, plugin::Arguments arguments, const plugin::FlatShape& shape,
                      const Order& order);

private:
  void examine(const std::vector<Parameter>* parameters);
  template <typename T> T number_of(cl_uint what) const;
  std::string fault_of(std::size_t count, std::size_t threads) const;
  std::string set_arguments(plugin::Arguments arguments);
  std::size_t threads_for(const plugin::FlatShape& shape) const;
  std::size_t teams_for(const plugin::FlatShape& shape, std::size_t threads) const;

  const Loader& cl_;
  const Found& found_;
  Memory& memory_;
  const std::string name_, title_;
  std::string failure_; // it cannot be launched
  cl_kernel kernel_ = nullptr;
  std::vector<Parameter> parameters_;
  std::size_t most_threads_ = 0;
  std::uint64_t team_memory_ = 0;

  std::mutex mutex_; // OpenCL's arguments are the kernel's, not the launch's
  std::vector<void*> set_;
  bool any_set_ = false;
  std::uint64_t passed_ = 0;
};

} // namespace omptool::opencl

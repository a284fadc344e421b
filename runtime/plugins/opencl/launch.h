// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of an image's kernels: each is what a table's entry points at.
#pragma once

#include "common/device.h"
#include "common/launch_shape.h"
#include "loans.h"
#include "memory.h"
#include "spirv.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace omptool::opencl {

// A launch that waits for its turn: all that it needs, and memory that its kernel is lent until it ends.
struct Launch {
  std::vector<void*> values;
  std::size_t threads, teams;
  bool names_dimensions;
  std::shared_ptr<Loan> lent;
};

class Kernel {
public:
  // Kernel of a program. If it cannot be created, each launch reports the reason. No entry: its parameters are not
  // known.
  Kernel(const Loader& cl, const Found& found, Memory& memory, cl_program program, std::string name,
         const EntryPoint* entry);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  const std::string& title() const { return title_; } // in messages
  std::string launch_call() const { return "clEnqueueNDRangeKernel of " + title_; }
  void* handle() { return this; }

  // Prepares a launch. Returns nothing, with last_error set, if the device cannot run it.
  std::optional<Launch> prepare(plugin::Arguments arguments, const plugin::FlatShape& shape, Loans& loans);
  // Launches the kernel. Returns 0 if it is enqueued, else OMPTARGET_RTL_NOT_STARTED with last_error set.
  std::int32_t launch(cl_command_queue queue, const Launch& launch, const Order& order);

private:
  void examine(const EntryPoint* entry);
  template <typename T> T number_of(cl_uint what) const;
  std::string fault_of(std::size_t count, std::size_t threads) const;
  std::string set_arguments(const std::vector<void*>& arguments);
  bool is_generic() const { return environment_ && !(environment_->mode & KernelEnvironment::kSpmd); }
  std::vector<void*> values_of(plugin::Arguments arguments, std::uint32_t flags) const;
  bool lend(Launch& launch, Loans& loans) const;
  std::string send_record(cl_command_queue queue, const Launch& launch, const Order& order) const;
  std::size_t threads_for(const plugin::FlatShape& shape) const;
  std::size_t teams_for(const plugin::FlatShape& shape, std::size_t threads) const;

  const Loader& cl_;
  const Found& found_;
  Memory& memory_;
  const std::string name_, title_;
  std::string failure_; // it cannot be launched
  cl_kernel kernel_ = nullptr;
  std::vector<Parameter> parameters_;
  std::optional<KernelEnvironment> environment_;
  std::size_t most_threads_ = 0;
  std::uint64_t team_memory_ = 0;

  std::mutex mutex_; // OpenCL's arguments are the kernel's, not the launch's
  std::vector<void*> set_;
  bool any_set_ = false;
  std::uint64_t passed_ = 0;
};

} // namespace omptool::opencl

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include "common/calls.h"
#include "common/launch_line.h"
#include "counted.h"
#include "loader.h"
#include "omptarget_rtl.h"
#include "region_name.h"

#include <algorithm>
#include <utility>

namespace omptool::opencl {
namespace {

constexpr std::size_t kMostThreadsOfPortable = 1024; // docs/kernels.md: of teams with memory of their own

std::int32_t not_started(const std::string& why) {
  fail(why);
  return OMPTARGET_RTL_NOT_STARTED;
}

} // namespace

Kernel::Kernel(const Loader& cl, const Found& found, Memory& memory, cl_program program, std::string name,
               const std::vector<Parameter>* parameters)
    : cl_(cl), found_(found), memory_(memory), name_(std::move(name)), title_(region_name(name_)) {
  cl_int error = CL_SUCCESS;
  kernel_ = cl_.clCreateKernel(program, name_.c_str(), &error);
  if (kernel_)
    examine(parameters);
  else
    failure_ = failure_of("clCreateKernel", error);
}

Kernel::~Kernel() {
  if (kernel_)
    cl_.clReleaseKernel(kernel_);
}

void Kernel::examine(const std::vector<Parameter>* parameters) {
  cl_uint count = 0;
  if (const cl_int error = cl_.clGetKernelInfo(kernel_, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr))
    failure_ = failure_of("clGetKernelInfo", error);
  parameters_ = parameters ? *parameters : std::vector<Parameter>(count, Parameter::kInteger);
  if (parameters_.size() != count)
    failure_ =
        "it has " + counted(parameters_.size(), "parameter") + ", and the driver counts " + std::to_string(count);
  const auto other = std::find(parameters_.begin(), parameters_.end(), Parameter::kOther);
  if (other != parameters_.end())
    failure_ = "its parameter " + std::to_string(other - parameters_.begin()) + " is no integer of 64 bits, or pointer";
  most_threads_ = number_of<std::size_t>(CL_KERNEL_WORK_GROUP_SIZE);
  team_memory_ = number_of<cl_ulong>(CL_KERNEL_LOCAL_MEM_SIZE);
}

template <typename T> T Kernel::number_of(cl_uint what) const {
  T value{};
  const cl_int error = cl_.clGetKernelWorkGroupInfo(kernel_, found_.device, what, sizeof value, &value, nullptr);
  return error == CL_SUCCESS ? value : T{};
}

std::size_t Kernel::threads_for(const plugin::FlatShape& shape) const {
  constexpr std::size_t kUsual = 128; // GPUs run threads in groups of up to 64
  if (shape.threads > 0)
    return static_cast<std::size_t>(shape.threads);
  return found_.is_cpu || most_threads_ == 0 ? 1 : std::min(kUsual, most_threads_);
}

std::size_t Kernel::teams_for(const plugin::FlatShape& shape, std::size_t threads) const {
  if (shape.teams > 0)
    return static_cast<std::size_t>(shape.teams);
  constexpr std::uint64_t kForEachUnit = 4;
  const std::uint64_t most = std::max(found_.units, 1U) * (found_.is_cpu ? 1 : kForEachUnit);
  const std::uint64_t needed = (shape.trip_count + threads - 1) / threads;
  return shape.trip_count == 0 ? most : std::clamp(needed, std::uint64_t{1}, most);
}

// Returns why this device cannot run it so, or "".
std::string Kernel::fault_of(std::size_t count, std::size_t threads) const {
  if (!failure_.empty())
    return failure_;
  if (count != parameters_.size())
    return "it has " + counted(parameters_.size(), "parameter") + ", and the call " + counted(count, "argument");
  const std::size_t most = team_memory_ > 0 ? std::min(most_threads_, kMostThreadsOfPortable) : most_threads_;
  if (most > 0 && threads > most)
    return "the launch asks for teams of " + std::to_string(threads) + " threads; the device allows " +
           std::to_string(most);
  if (team_memory_ > found_.team_memory)
    return "it needs " + std::to_string(team_memory_) + " bytes of a team's own memory; the device has " +
           std::to_string(found_.team_memory);
  return {};
}

// Sets the arguments of a launch. Arguments that the kernel has already are not set again.
std::string Kernel::set_arguments(plugin::Arguments arguments) {
  const bool all = !std::exchange(any_set_, false);
  set_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!all && set_[i] == arguments[i])
      continue;
    const auto number = static_cast<cl_uint>(i);
    const bool is_integer = parameters_[i] == Parameter::kInteger;
    const bool by_usm = found_.memory == MemoryKind::kUsm || found_.memory == MemoryKind::kDevice;
    const auto set_pointer = by_usm ? found_.extensions.clSetKernelArgMemPointerINTEL : cl_.clSetKernelArgSVMPointer;
    if (!is_integer && !set_pointer)
      return "the driver takes no addresses as its arguments";
    const cl_int error = is_integer ? cl_.clSetKernelArg(kernel_, number, sizeof arguments[i], &arguments[i])
                                    : set_pointer(kernel_, number, arguments[i]);
    if (error != CL_SUCCESS)
      return "argument " + std::to_string(i) + ", " + failure_of("clSetKernelArg", error);
    set_[i] = arguments[i];
  }
  any_set_ = true;
  return {};
}

std::int32_t Kernel::launch(cl_command_queue queue, plugin::Arguments arguments, const plugin::FlatShape& shape,
                            const Order& order) {
  const std::size_t threads = threads_for(shape);
  const std::size_t all = threads * teams_for(shape, threads);
  if (const std::string fault = fault_of(arguments.size(), threads); !fault.empty())
    return not_started("kernel " + title_ + ": " + fault);
  const std::lock_guard lock(mutex_);
  if (const std::string fault = set_arguments(arguments); !fault.empty())
    return not_started("kernel " + title_ + ": " + fault);
  cl_int error = memory_.allow(kernel_, passed_);
  if (error != CL_SUCCESS)
    return not_started("kernel " + title_ + ": " + failure_of("clSetKernelExecInfo", error));
  if (tells_launches())
    tell_launch(found_.number, name_, launch_words({all / threads, 1, 1}, {threads, 1, 1}, shape.names_dimensions),
                "Bare");
  error =
      cl_.clEnqueueNDRangeKernel(queue, kernel_, 1, nullptr, &all, &threads, order.count(), order.events(), order.made);
  return error == CL_SUCCESS ? 0 : not_started("kernel " + title_ + ": " + failure_of("clEnqueueNDRangeKernel", error));
}

} // namespace omptool::opencl

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include "common/calls.h"
#include "common/launch_line.h"
#include "counted.h"
#include "generations.h"
#include "loader.h"
#include "omptarget_rtl.h"
#include "region_name.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace omptool::opencl {
namespace {

constexpr std::size_t kMostThreadsOfPortable = 1024; // docs/kernels.md: of teams with memory of their own

// A launch lends its kernel one of these: the first until clang 22, the other since 23. devicertl/spirv/team.h has
// them, too.
struct Launch22 {
  std::uint32_t count, iteration;
  void* buffer;
};
struct Launch23 {
  void *buffer, *fallback_memory;
  std::uint32_t teams_done, memory_size;
  std::uint64_t memory_fallback;
};
constexpr std::size_t kRecord = 64;                   // bytes in front of the teams' own records
constexpr std::size_t kNumbers22 = 9, kNumbers23 = 8; // in a kernel's environment

template <typename Record> std::vector<std::byte> bytes_of(const Record& record) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&record);
  return {begin, begin + sizeof record};
}

std::int32_t not_started(const std::string& why) {
  fail(why);
  return OMPTARGET_RTL_NOT_STARTED;
}

} // namespace

Kernel::Kernel(const Loader& cl, const Found& found, Memory& memory, cl_program program, std::string name,
               const EntryPoint* entry)
    : cl_(cl), found_(found), memory_(memory), name_(std::move(name)), title_(region_name(name_)) {
  cl_int error = CL_SUCCESS;
  kernel_ = cl_.clCreateKernel(program, name_.c_str(), &error);
  if (kernel_)
    examine(entry);
  else
    failure_ = failure_of("clCreateKernel", error);
}

Kernel::~Kernel() {
  if (kernel_)
    cl_.clReleaseKernel(kernel_);
}

void Kernel::examine(const EntryPoint* entry) {
  cl_uint count = 0;
  if (const cl_int error = cl_.clGetKernelInfo(kernel_, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr))
    failure_ = failure_of("clGetKernelInfo", error);
  parameters_ = entry ? entry->parameters : std::vector<Parameter>(count, Parameter::kInteger);
  if (entry)
    environment_ = entry->environment;
  if (environment_ && environment_->numbers != kNumbers22 && environment_->numbers != kNumbers23)
    failure_ = "its environment has " + counted(environment_->numbers, "number") + ", which no clang up to " +
               std::to_string(std::end(kGenerations)[-1].last_release) + " writes";
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
  if (is_generic())                   // drivers for CPUs go on with wrong data where threads wait in different places
    return 1;
  if (shape.threads == 0)
    return found_.is_cpu || most_threads_ == 0 ? 1 : std::min(kUsual, most_threads_);
  const auto asked = static_cast<std::size_t>(shape.threads);
  // A portable kernel runs as it is asked to, or not at all; a team of OpenMP may have fewer threads.
  return environment_ && most_threads_ > 0 ? std::min({asked, most_threads_, kMostThreadsOfPortable}) : asked;
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
std::string Kernel::set_arguments(const std::vector<void*>& arguments) {
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

// Returns the values of the arguments, with a word for the environment where clang's kernel expects it. The call may
// have that word elsewhere, or lack it.
std::vector<void*> Kernel::values_of(plugin::Arguments arguments, std::uint32_t flags) const {
  std::vector<void*> values(arguments.begin(), arguments.end());
  if (!environment_)
    return values;
  if ((flags & OMPTARGET_SHAPE_ENVIRONMENT_FIRST) && !values.empty())
    values.erase(values.begin());
  else if ((flags & OMPTARGET_SHAPE_ENVIRONMENT_LAST) && !values.empty())
    values.pop_back();
  values.insert(environment_->numbers == kNumbers22 ? values.begin() : values.end(), nullptr);
  return values;
}

// Lends memory to a kernel that reduces over teams. False, with last_error set: there is none.
bool Kernel::lend(Launch& launch, Loans& loans) const {
  if (!environment_ || environment_->reduction_size == 0)
    return true;
  const std::size_t size = kRecord + launch.teams * environment_->reduction_size;
  launch.lent = loans.take(memory_, size);
  if (!launch.lent)
    return false;
  void* const block = launch.lent->block();
  void* const buffer = static_cast<std::byte*>(block) + kRecord;
  const bool is_first = environment_->numbers == kNumbers22;
  launch.lent->record() = is_first ? bytes_of(Launch22{0, 0, buffer}) : bytes_of(Launch23{buffer, nullptr, 0, 0, 0});
  (is_first ? launch.values.front() : launch.values.back()) = block;
  return true;
}

std::optional<Launch> Kernel::prepare(plugin::Arguments arguments, const plugin::FlatShape& shape, Loans& loans) {
  const std::size_t threads = threads_for(shape);
  Launch launch{values_of(arguments, shape.flags), threads, teams_for(shape, threads), shape.names_dimensions, {}};
  const std::string fault = fault_of(launch.values.size(), threads);
  if (!fault.empty())
    fail("kernel " + title_ + ": " + fault);
  if (!fault.empty() || !lend(launch, loans))
    return std::nullopt;
  return launch;
}

// Sends the launch record. Commands of a queue run in order, so the kernel reads it.
std::string Kernel::send_record(cl_command_queue queue, const Launch& launch, const Order& order) const {
  if (!launch.lent)
    return {};
  const std::vector<std::byte>& record = launch.lent->record();
  cl_event sent = nullptr;
  const cl_int error =
      memory_.copy(queue, launch.lent->block(), record.data(), record.size(), Order{order.before, &sent});
  if (sent)
    cl_.clReleaseEvent(sent);
  return error == CL_SUCCESS ? "" : failure_of(memory_.copy_call(), error);
}

std::int32_t Kernel::launch(cl_command_queue queue, const Launch& launch, const Order& order) {
  const std::size_t all = launch.threads * launch.teams;
  const std::lock_guard lock(mutex_);
  std::string fault = set_arguments(launch.values);
  if (fault.empty())
    fault = send_record(queue, launch, order);
  if (!fault.empty())
    return not_started("kernel " + title_ + ": " + fault);
  cl_int error = memory_.allow(kernel_, passed_);
  if (error != CL_SUCCESS)
    return not_started("kernel " + title_ + ": " + failure_of("clSetKernelExecInfo", error));
  if (tells_launches())
    tell_launch(found_.number, name_,
                launch_words({launch.teams, 1, 1}, {launch.threads, 1, 1}, launch.names_dimensions),
                !environment_  ? "Bare"
                : is_generic() ? "Generic"
                               : "SPMD");
  error = cl_.clEnqueueNDRangeKernel(queue, kernel_, 1, nullptr, &all, &launch.threads, order.count(), order.events(),
                                     order.made);
  return error == CL_SUCCESS ? 0 : not_started("kernel " + title_ + ": " + failure_of("clEnqueueNDRangeKernel", error));
}

} // namespace omptool::opencl

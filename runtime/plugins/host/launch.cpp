// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include "common/calls.h"
#include "common/launch_shape.h"
#include "kernels/call.h"
#include "kernels/current_state.h"
#include "kernels/fault_stack.h"
#include "teams.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace omptool::host {
namespace {

constexpr std::size_t kMostArguments = 1 << 15; // they go through the stack

struct Launch {
  void* kernel;
  void* const* arguments;
  std::size_t count;
  Shape shape;
  std::int32_t device;
};

void run_one(void* context, std::int64_t i) {
  const Launch& launch = *static_cast<const Launch*>(context);
  ensure_fault_stack();
  // Saved: a kernel may launch another one.
  const Current before = current;
  current = {{static_cast<std::int32_t>(i / launch.shape.num_threads), launch.shape.num_teams,
              static_cast<std::int32_t>(i % launch.shape.num_threads), launch.shape.num_threads, launch.device},
             launch.kernel};
  omptool_host_call(launch.kernel, launch.arguments, launch.count);
  current = before;
}

[[gnu::noinline, gnu::cold]] bool fail_for_arguments(std::size_t count) {
  return fail("a kernel with " + std::to_string(count) + " arguments"), false;
}

// Not a kernel of teams: those have handles that are negative numbers.
bool is_plain(const void* kernel) {
  return reinterpret_cast<std::intptr_t>(kernel) > 0;
}

// The common case, one team of one thread: without the pool, and without copies of the arguments.
void run_alone(void* kernel, void* const* arguments, std::size_t count, std::int32_t device) {
  ensure_fault_stack();
  const Current before = current;
  current = {{0, 1, 0, 1, device}, kernel};
  const auto call = [&](auto... argument) { reinterpret_cast<void (*)(decltype(argument)...)>(kernel)(argument...); };
  switch (count) {
  case 0:
    call();
    break;
  case 1:
    call(arguments[0]);
    break;
  case 2:
    call(arguments[0], arguments[1]);
    break;
  case 3:
    call(arguments[0], arguments[1], arguments[2]);
    break;
  case 4:
    call(arguments[0], arguments[1], arguments[2], arguments[3]);
    break;
  case 5:
    call(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
    break;
  default:
    omptool_host_call(kernel, arguments, count);
  }
  current = before;
}

[[gnu::noinline, gnu::cold]] std::int32_t run_teams_of(const Launcher& launcher, void* handle,
                                                       plugin::Arguments arguments, Shape shape) {
  std::vector<void*> padded(arguments.begin(), arguments.end());
  padded.resize(std::max(padded.size(), kRegisterArguments)); // all registers are loaded
  const TeamWork work{*TeamKernel::of(handle), padded.data(),     arguments.size(),
                      shape.num_teams,         shape.num_threads, launcher.device};
  return run_teams(work, launcher.pool, launcher.crews);
}

} // namespace

std::optional<Shape> shape_of(const tgt_launch_shape* asked) {
  const std::optional<plugin::FlatShape> known = plugin::flat_shape(asked, "the CPU");
  if (!known)
    return std::nullopt;
  return Shape{known->teams > 0 ? known->teams : static_cast<std::int32_t>(Pool::hardware_threads()),
               std::max(known->threads, 1)};
}

bool Launcher::can_run(void* kernel, plugin::Arguments arguments, Shape shape) const {
  if (arguments.size() > kMostArguments)
    return fail_for_arguments(arguments.size());
  return is_plain(kernel) || fault_of_team(shape.num_threads) == 0;
}

std::int32_t Launcher::run(void* kernel, plugin::Arguments arguments, Shape shape) const {
  const std::size_t size = arguments.size();
  if (size > kMostArguments) [[unlikely]]
    return fail_for_arguments(size), OMPTARGET_RTL_NOT_STARTED;
  if (!is_plain(kernel))
    return run_teams_of(*this, kernel, arguments, shape);
  if (shape.num_teams == 1 && shape.num_threads == 1) {
    run_alone(kernel, arguments.data(), size, device);
    return 0;
  }
  std::array<void*, kRegisterArguments> few{};
  if (size < few.size()) // all registers are loaded
    std::copy_n(arguments.data(), size, few.begin());
  Launch launch{kernel, size < few.size() ? few.data() : arguments.data(), size, shape, device};
  pool.run(std::int64_t{shape.num_teams} * shape.num_threads, run_one, &launch);
  return 0;
}

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.h"

#include "common/calls.h"
#include "common/launch_shape.h"
#include "kernels/call.h"
#include "kernels/current_state.h"
#include "kernels/fault_stack.h"
#include "kernels/runtime_kernel.h"
#include "teams.h"

#include <algorithm>
#include <array>
#include <string>

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

// Padded arguments: as many as there are registers, all of which are loaded.
class Padded {
public:
  explicit Padded(plugin::Arguments arguments) : all_(arguments.data()) {
    if (arguments.size() >= few_.size())
      return;
    std::copy(arguments.begin(), arguments.end(), few_.begin());
    all_ = few_.data();
  }
  Padded(const Padded&) = delete;
  Padded& operator=(const Padded&) = delete;
  void* const* data() const { return all_; }

private:
  std::array<void*, kRegisterArguments> few_{};
  void* const* all_;
};

void run_one(void* context, std::int64_t i) {
  const Launch& launch = *static_cast<const Launch*>(context);
  ensure_fault_stack();
  // Saves the state, because a kernel may launch another one.
  const Current before = current;
  current = {{static_cast<std::int32_t>(i / launch.shape.num_threads), launch.shape.num_teams,
              static_cast<std::int32_t>(i % launch.shape.num_threads), launch.shape.num_threads, launch.device, 0},
             launch.kernel};
  omptool_host_call(launch.kernel, launch.arguments, launch.count);
  current = before;
}

[[gnu::noinline, gnu::cold]] bool fail_for_arguments(std::size_t count) {
  return fail("a kernel with " + std::to_string(count) + " arguments"), false;
}

// Returns whether the kernel has no record: handles of kernels with a record are negative numbers.
bool is_plain(const void* kernel) {
  return reinterpret_cast<std::intptr_t>(kernel) > 0;
}

// Runs the common case, one team of one thread, without the pool and without copies of the arguments. Takes numbers in
// place of a state: to read a state as a whole just after its fields were stored stalls the processor for 4 ns.
void run_alone(void* kernel, void* const* arguments, std::size_t count, std::int32_t device,
               std::int32_t thread_limit) {
  ensure_fault_stack();
  const Current before = current;
  current = {{0, 1, 0, 1, device, thread_limit}, kernel};
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

std::int32_t run_teams_of(const TeamKernel& known, const Launcher& launcher, plugin::Arguments arguments, Shape shape) {
  const Padded padded(arguments);
  const TeamWork work{known,          padded.data(), arguments.size(), shape.num_teams, std::max(shape.num_threads, 1),
                      launcher.device};
  return run_teams(work, launcher.pool, launcher.crews);
}

void run_team(void* context, std::int64_t team) {
  const Launch& launch = *static_cast<const Launch*>(context);
  ensure_fault_stack();
  const Current before = current;
  current = {{static_cast<std::int32_t>(team), launch.shape.num_teams, 0, 1, launch.device, launch.shape.num_threads},
             launch.kernel};
  omptool_host_call(launch.kernel, launch.arguments, launch.count);
  current = before;
}

// Runs the kernel once for each team. Its environment limits the numbers of teams and threads.
std::int32_t run_with_runtime(const RuntimeKernel& known, const Launcher& launcher, plugin::Arguments arguments,
                              Shape shape) {
  if (known.most_teams > 0)
    shape.num_teams = std::min(shape.num_teams, known.most_teams);
  shape.num_threads = known.thread_limit(shape.num_threads);
  if (shape.num_teams == 1) {
    run_alone(known.kernel, arguments.data(), arguments.size(), launcher.device, shape.num_threads);
    return 0;
  }
  const Padded padded(arguments);
  Launch launch{known.kernel, padded.data(), arguments.size(), shape, launcher.device};
  launcher.pool.run(shape.num_teams, run_team, &launch);
  return 0;
}

[[gnu::noinline]] std::int32_t run_marked(const Launcher& launcher, void* handle, plugin::Arguments arguments,
                                          Shape shape) {
  const RuntimeKernel* const known = RuntimeKernel::of(handle);
  return known ? run_with_runtime(*known, launcher, arguments, shape)
               : run_teams_of(*TeamKernel::of(handle), launcher, arguments, shape);
}

} // namespace

std::optional<Shape> shape_of(const tgt_launch_shape* asked) {
  if (!asked)
    return kNoShape;
  const std::optional<plugin::FlatShape> known = plugin::flat_shape(asked, "the CPU");
  if (!known)
    return std::nullopt;
  return Shape{known->teams > 0 ? known->teams : static_cast<std::int32_t>(Pool::hardware_threads()), known->threads};
}

bool Launcher::can_run(void* kernel, plugin::Arguments arguments, Shape shape) const {
  if (arguments.size() > kMostArguments)
    return fail_for_arguments(arguments.size());
  return !TeamKernel::of(kernel) || fault_of_team(shape.num_threads) == 0;
}

std::int32_t Launcher::run(void* kernel, plugin::Arguments arguments, Shape shape) const {
  const std::size_t size = arguments.size();
  if (size > kMostArguments) [[unlikely]]
    return fail_for_arguments(size), OMPTARGET_RTL_NOT_STARTED;
  if (!is_plain(kernel))
    return run_marked(*this, kernel, arguments, shape);
  shape.num_threads = std::max(shape.num_threads, 1);
  if (shape.num_teams == 1 && shape.num_threads == 1) {
    run_alone(kernel, arguments.data(), size, device, 0);
    return 0;
  }
  const Padded padded(arguments);
  Launch launch{kernel, padded.data(), size, shape, device};
  pool.run(std::int64_t{shape.num_teams} * shape.num_threads, run_one, &launch);
  return 0;
}

} // namespace omptool::host

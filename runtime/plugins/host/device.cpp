// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.h"

#include "common/asked_shape.h"
#include "common/calls.h"
#include "kernels/call.h"
#include "kernels/current_state.h"
#include "kernels/fault_stack.h"
#include "kernels/faults.h"
#include "small_blocks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace omptool::host {
namespace {

constexpr std::int32_t kMostArguments = 1 << 15; // they go through the stack

const omptool_thread_state* thread_state() {
  return &current.state;
}

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

[[gnu::noinline, gnu::cold]] std::int32_t fail_for_size(std::int64_t size) {
  return fail("a size of " + std::to_string(size) + " bytes");
}
[[gnu::noinline, gnu::cold]] std::int32_t fail_for_arguments(std::int32_t count) {
  fail("a kernel with " + std::to_string(count) + " arguments");
  return OMPTARGET_RTL_NOT_STARTED;
}

bool are_passable(void* const* arguments, std::int32_t count) {
  return count >= 0 && count <= kMostArguments && (count == 0 || arguments);
}

// No team kernel: those have handles that are negative numbers.
bool can_run(const void* kernel, void* const* arguments, std::int32_t count) {
  return reinterpret_cast<std::intptr_t>(kernel) > 0 && are_passable(arguments, count);
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

} // namespace

std::optional<Shape> shape_of(const tgt_launch_shape& record) {
  const std::optional<AskedShape> asked = asked_shape(record);
  if (!asked)
    return std::nullopt;
  const Shape shape = shape_of(asked->teams, asked->threads);
  if (asked->is_cooperative && std::int64_t{shape.num_teams} * shape.num_threads > 1) {
    fail("teams of the CPU do not wait for each other");
    return std::nullopt;
  }
  if (asked->dynamic_memory > 0) {
    fail(std::to_string(asked->dynamic_memory) +
         " bytes of each team's own: on the CPU a launch gives teams no memory");
    return std::nullopt;
  }
  return shape;
}

tgt_target_table* Device::load(__tgt_device_image* image) {
  name_faulting_kernels();
  // No lock: the image's constructors may call the runtime.
  std::unique_ptr<Image> loaded = Image::load(*image, {thread_state, Crew::wait_for_team, Crew::team_memory});
  if (!loaded)
    return nullptr;
  tgt_target_table* const table = loaded->table();
  const std::lock_guard lock(mutex_);
  images_[image] = std::move(loaded);
  return table;
}

std::int32_t Device::unload(const __tgt_device_image* image) {
  std::unique_ptr<Image> gone; // closed without the lock, as it was opened
  {
    const std::lock_guard lock(mutex_);
    const auto at = images_.find(image);
    if (at == images_.end())
      return fail("this image is not loaded");
    gone = std::move(at->second);
    images_.erase(at);
  }
  return 0;
}

void* Device::allocate(std::int64_t size) {
  if (size < 0 || static_cast<std::uint64_t>(size) > SIZE_MAX / 2) {
    fail_for_size(size);
    return nullptr;
  }
  void* const memory = small_blocks::allocate(static_cast<std::size_t>(size));
  if (!memory)
    fail("no memory for " + std::to_string(size) + " bytes");
  return memory;
}

std::int32_t Device::copy(void* target, const void* source, std::int64_t size) {
  if (size < 0)
    return fail_for_size(size);
  if (size > 0 && target != source) // the same address where host memory is shared
    std::memmove(target, source, static_cast<std::size_t>(size));
  return 0;
}

std::int32_t Device::fill(void* target, std::int32_t value, std::int64_t size) {
  if (size < 0)
    return fail_for_size(size);
  if (size > 0)
    std::memset(target, value, static_cast<std::size_t>(size));
  return 0;
}

std::int32_t Device::release(void* memory) {
  small_blocks::release(memory);
  return 0;
}

// Whatever is no plain kernel.
std::int32_t Device::run_teams_of(void* handle, void** arguments, std::int32_t count, Shape shape) {
  const TeamKernel* const kernel = TeamKernel::of(handle);
  if (!kernel || !are_passable(arguments, count))
    return fail_for_arguments(count);
  std::vector<void*> padded(arguments, arguments + count);
  padded.resize(std::max(padded.size(), kRegisterArguments)); // all registers are loaded
  const TeamWork work{*kernel,         padded.data(),     static_cast<std::size_t>(count),
                      shape.num_teams, shape.num_threads, number_};
  return run_teams(work, pool_, crews_);
}

std::int32_t Device::run(void* kernel, void** arguments, std::int32_t count, Shape shape) {
  if (!can_run(kernel, arguments, count))
    return run_teams_of(kernel, arguments, count, shape);
  const std::size_t size = static_cast<std::size_t>(count);
  if (shape.num_teams == 1 && shape.num_threads == 1) {
    run_alone(kernel, arguments, size, number_);
    return 0;
  }
  std::array<void*, kRegisterArguments> few{};
  if (size < few.size()) // all registers are loaded
    std::copy_n(arguments, size, few.begin());
  Launch launch{kernel, size < few.size() ? few.data() : arguments, size, shape, number_};
  pool_.run(std::int64_t{shape.num_teams} * shape.num_threads, run_one, &launch);
  return 0;
}

Body Device::later_copy(void* target, const void* source, std::int64_t size) {
  if (size < 0) {
    fail_for_size(size);
    return {};
  }
  return [=, this] { return copy(target, source, size); };
}

Body Device::later_fill(void* target, std::int32_t value, std::int64_t size) {
  if (size < 0) {
    fail_for_size(size);
    return {};
  }
  return [=, this] { return fill(target, value, size); };
}

Body Device::later_run(void* kernel, void** arguments, std::int32_t count, Shape shape) {
  const bool has_teams = TeamKernel::of(kernel) && are_passable(arguments, count);
  if (!has_teams && !can_run(kernel, arguments, count)) {
    fail_for_arguments(count);
    return {};
  }
  if (has_teams && fault_of_team(shape.num_threads))
    return {};
  return [=, this, copied = std::vector<void*>(arguments, arguments + count)]() mutable {
    return run(kernel, copied.data(), count, shape);
  };
}

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.h"

#include "common/description.h"
#include "kernels/current_state.h"
#include "kernels/faults.h"
#include "machine.h"
#include "plugin.h"
#include "processor.h"
#include "small_blocks.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace omptool::host {
namespace {

const omptool_thread_state* thread_state() {
  return &current.state;
}

std::int32_t copy(void* target, const void* source, std::size_t size) {
  if (target != source) // the same where host memory is shared
    std::memmove(target, source, size);
  return 0;
}

} // namespace

Device::Device(std::int32_t number, Plugin& all) : launcher_{number, all.pool, all.crews}, queue_(all.queue) {}

// Returns true: memory of every kind is host memory, and every device reaches all of it.
bool Device::reaches_host_memory() const {
  return true;
}

tgt_target_table* Device::load(const __tgt_device_image& image) {
  name_faulting_kernels();
  // No lock: the image's constructors may call the runtime.
  std::unique_ptr<Image> loaded = Image::load(image, {thread_state, Crew::wait_for_team, Crew::team_memory});
  return loaded ? images_.add(image, std::move(loaded)) : nullptr;
}

std::int32_t Device::unload(const __tgt_device_image& image) {
  return images_.take(image) ? 0 : 1; // closed without a lock, as it was opened
}

void* Device::allocate(std::size_t size, std::int32_t) {
  void* const memory = small_blocks::allocate(size);
  if (!memory)
    fail("the process has no memory for " + std::to_string(size) + " bytes");
  return memory;
}

std::int32_t Device::release(void* memory, std::int32_t) {
  small_blocks::release(memory);
  return 0;
}

std::int32_t Device::submit(void* target, const void* source, std::size_t size) {
  return copy(target, source, size);
}

std::int32_t Device::retrieve(void* target, const void* source, std::size_t size) {
  return copy(target, source, size);
}

std::int32_t Device::fill(void* target, std::int32_t value, std::size_t size) {
  std::memset(target, value, size);
  return 0;
}

std::int32_t Device::receive(void* target, plugin::Device&, const void* source, std::size_t size) {
  return copy(target, source, size);
}

std::int32_t Device::run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape) {
  if (!shape) [[likely]]
    return launcher_.run(kernel, arguments, kNoShape);
  const std::optional<Shape> known = shape_of(shape);
  return known ? launcher_.run(kernel, arguments, *known) : OMPTARGET_RTL_NOT_STARTED;
}

std::int32_t Device::queue_nothing(const plugin::Dependences& order) {
  return queue_.add(order, {});
}

std::int32_t Device::queue_submit(void* target, const void* source, std::size_t size,
                                  const plugin::Dependences& order) {
  return queue_.add(order, [=] { return copy(target, source, size); });
}

std::int32_t Device::queue_retrieve(void* target, const void* source, std::size_t size,
                                    const plugin::Dependences& order) {
  return queue_.add(order, [=] { return copy(target, source, size); });
}

std::int32_t Device::queue_fill(void* target, std::int32_t value, std::size_t size, const plugin::Dependences& order) {
  return queue_.add(order, [=, this] { return fill(target, value, size); });
}

std::int32_t Device::queue_run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* asked,
                               const plugin::Dependences& order) {
  const std::optional<Shape> shape = shape_of(asked);
  if (!shape || !launcher_.can_run(kernel, arguments, *shape))
    return OMPTARGET_RTL_NOT_STARTED;
  return queue_.add(order, [=, this, copied = std::vector<void*>(arguments.begin(), arguments.end())]() mutable {
    return launcher_.run(kernel, copied, *shape);
  });
}

bool Device::shares_host_memory() const {
  return memory_is_shared();
}

bool Device::moves_like_memmove() const {
  return !queues_are_wanted();
}

bool Device::prefers_queues() const {
  return queues_are_wanted();
}

std::int32_t Device::describe(tgt_device_description& description) const {
  description.units = Pool::hardware_threads();
  description.memory = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
                       static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
  put(machine::kArchitecture, description.architecture);
  put(processor_name(), description.name);
  put("ELF, bitcode", description.images);
  return 0;
}

} // namespace omptool::host

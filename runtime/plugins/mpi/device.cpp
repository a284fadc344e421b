// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.h"

#include "common/calls.h"
#include "common/launch_shape.h"

#include <string>
#include <utility>

namespace omptool::mpi {
namespace {

std::uint64_t address(const void* memory) {
  return reinterpret_cast<std::uint64_t>(memory);
}
View bytes_at(const void* memory, std::size_t size) {
  return {static_cast<const std::byte*>(memory), size};
}
std::span<std::byte> bytes_at(void* memory, std::size_t size) {
  return {static_cast<std::byte*>(memory), size};
}

} // namespace

Device::Device(Place place, DeviceOfWorker known, Queue& queue, ImageStore& images)
    : place_(place), known_(std::move(known)), queue_(queue), images_(images),
      memory_(
          [this](std::size_t size) -> std::uint64_t {
            Buffer reply;
            if (queue_.call(place_.worker, {Kind::kAllocate, place_.number, 0, 0, 0, size}, {}, &reply) != 0)
              return 0;
            Reader reader(reply);
            return reader.number("an address");
          },
          [this](std::uint64_t memory) {
            return queue_.call(place_.worker, {Kind::kRelease, place_.number, 0, memory});
          }) {}

std::int32_t Device::start() {
  const std::int32_t result = queue_.call(place_.worker, {Kind::kStart, place_.number});
  if (result == 0)
    has_started_.store(true, std::memory_order_release);
  return result;
}

// ---- images ----

tgt_target_table* Device::load(const __tgt_device_image& image) {
  return load(image, nullptr);
}

tgt_target_table* Device::load(const __tgt_device_image& image, const std::int64_t* extents) {
  const auto* const begin = static_cast<const std::byte*>(image.ImageStart);
  if (!may_take(kind_of({begin, static_cast<const std::byte*>(image.ImageEnd)}))) {
    fail("the worker's plugin " + known_.plugin + " takes no such image");
    return nullptr;
  }
  std::unique_ptr<Image> loaded = images_.load(place_.worker, place_.number, image, extents);
  return loaded ? loaded_.add(image, std::move(loaded)) : nullptr;
}

std::int32_t Device::unload(const __tgt_device_image& image) {
  const std::unique_ptr<Image> gone = loaded_.take(image);
  return gone ? queue_.call(place_.worker, {Kind::kUnload, place_.number, 0, gone->number()}) : 1;
}

// ---- memory ----

void* Device::allocate(std::size_t size, std::int32_t kind) {
  if (kind == OMPTARGET_MEMORY_DEVICE)
    return reinterpret_cast<void*>(memory_.allocate(size));
  fail("a worker's devices share no memory with the program");
  return nullptr;
}

std::int32_t Device::release(void* memory, std::int32_t) {
  return memory ? memory_.release(address(memory)) : 0;
}

// ---- operations ----

std::int32_t Device::ask(Operation&& operation, HostSide host, const plugin::Dependences* order) {
  operation.device = place_.number;
  return order ? queue_.queue(place_.worker, std::move(operation), host, *order)
               : queue_.call(place_.worker, operation, host);
}

std::int32_t Device::copy(void* target, plugin::Device& from, const void* source, std::size_t size,
                          const plugin::Dependences* order) {
  const Place& other = static_cast<const Device&>(from).place_;
  if (other.worker != place_.worker)
    return queue_.exchange(other.worker, {Kind::kGive, other.number, 0, 0, address(source), size}, place_.worker,
                           {Kind::kSubmit, place_.number, 0, address(target), 0, size}, order);
  return ask({Kind::kCopy, 0, 0, address(target), address(source), size, other.number}, {}, order);
}

std::int32_t Device::launch(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape,
                            const plugin::Dependences* order) {
  const bool is_array = shape && (shape->flags & OMPTARGET_SHAPE_ARGUMENT_ARRAY);
  if (shape && !is_array && known_.makes_teams && !plugin::flat_shape(shape, "a worker's CPU"))
    return OMPTARGET_RTL_NOT_STARTED; // it would be too late when the worker finds that out
  Operation running{Kind::kRun, 0, 0, address(kernel)};
  static_assert(sizeof(void*) == sizeof(std::uint64_t));
  running.arguments = {reinterpret_cast<const std::uint64_t*>(arguments.data()), arguments.size()};
  running.has_shape = shape != nullptr;
  if (shape) {
    running.shape = *shape;
    running.shape.size = sizeof running.shape;
  }
  return ask(std::move(running), {}, order);
}

std::int32_t Device::submit(void* target, const void* source, std::size_t size) {
  return ask({Kind::kSubmit, 0, 0, address(target)}, {bytes_at(source, size)}, nullptr);
}
std::int32_t Device::retrieve(void* target, const void* source, std::size_t size) {
  return ask({Kind::kRetrieve, 0, 0, 0, address(source), size}, {{}, bytes_at(target, size)}, nullptr);
}
std::int32_t Device::fill(void* target, std::int32_t value, std::size_t size) {
  return ask({Kind::kFill, 0, 0, address(target), 0, size, value}, {}, nullptr);
}
std::int32_t Device::receive(void* target, plugin::Device& from, const void* source, std::size_t size) {
  return copy(target, from, source, size, nullptr);
}
std::int32_t Device::run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape) {
  return launch(kernel, arguments, shape, nullptr);
}

std::int32_t Device::queue_nothing(const plugin::Dependences& order) {
  return ask({Kind::kJoin}, {}, &order);
}
std::int32_t Device::queue_submit(void* target, const void* source, std::size_t size,
                                  const plugin::Dependences& order) {
  return ask({Kind::kSubmit, 0, 0, address(target)}, {bytes_at(source, size)}, &order);
}
std::int32_t Device::queue_retrieve(void* target, const void* source, std::size_t size,
                                    const plugin::Dependences& order) {
  return ask({Kind::kRetrieve, 0, 0, 0, address(source), size}, {{}, bytes_at(target, size)}, &order);
}
std::int32_t Device::queue_fill(void* target, std::int32_t value, std::size_t size, const plugin::Dependences& order) {
  return ask({Kind::kFill, 0, 0, address(target), 0, size, value}, {}, &order);
}
std::int32_t Device::queue_run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape,
                               const plugin::Dependences& order) {
  return launch(kernel, arguments, shape, &order);
}

// ---- questions ----

bool Device::reaches_host_memory() const {
  fail("a worker's kernels do not reach the program's memory");
  return false;
}

std::int32_t Device::describe(tgt_device_description& description) const {
  description = known_.description;
  return 0;
}

} // namespace omptool::mpi

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device of a plugin: what each has of it is a class that derives from this one.
#pragma once

#include "events.h"
#include "omptarget_rtl.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace omptool::plugin {

using Arguments = std::span<void*>; // of a kernel

// The functions that each plugin's device has of its own: `OMPTOOL_DEVICE_FUNCTIONS(virtual, = 0)` declares those of
// the interface, `OMPTOOL_DEVICE_FUNCTIONS(, override)` those of a plugin's class.
//
// `kind` is one of OMPTARGET_MEMORY_.... Functions whose names begin with queue_ queue what the others have done when
// they return. No size is 0. No shape: one team of one thread. The last two functions also answer for a device that has
// not started (omptarget_rtl.h); where reaches_host_memory() is false, last_error may have the reason.
#define OMPTOOL_DEVICE_FUNCTIONS(before, behind)                                                                       \
  before tgt_target_table* load(const __tgt_device_image& image) behind;                                               \
  before std::int32_t unload(const __tgt_device_image& image) behind;                                                  \
  before void* allocate(std::size_t size, std::int32_t kind) behind;                                                   \
  before std::int32_t release(void* memory, std::int32_t kind) behind;                                                 \
  before std::int32_t submit(void* target, const void* source, std::size_t size) behind;                               \
  before std::int32_t retrieve(void* target, const void* source, std::size_t size) behind;                             \
  before std::int32_t fill(void* target, std::int32_t value, std::size_t size) behind;                                 \
  before std::int32_t receive(void* target, plugin::Device& from, const void* source, std::size_t size) behind;        \
  before std::int32_t run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape) behind;            \
  before std::int32_t queue_nothing(const plugin::Dependences& order) behind;                                          \
  before std::int32_t queue_submit(void* target, const void* source, std::size_t size,                                 \
                                   const plugin::Dependences& order) behind;                                           \
  before std::int32_t queue_retrieve(void* target, const void* source, std::size_t size,                               \
                                     const plugin::Dependences& order) behind;                                         \
  before std::int32_t queue_fill(void* target, std::int32_t value, std::size_t size, const plugin::Dependences& order) \
      behind;                                                                                                          \
  before std::int32_t queue_run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape,              \
                                const plugin::Dependences& order) behind;                                              \
  before bool reaches_host_memory() const behind;                                                                      \
  before std::int32_t describe(tgt_device_description& description) const behind

// The exported functions (exports.cpp) have checked what the core gives: sizes, kinds of memory and numbers of
// arguments. Functions that return a number return 0, or a failure, with last_error set; those that return an address
// return null then.
class Device {
public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Comes before everything but questions, until it has succeeded.
  virtual bool has_started() const { return true; }
  virtual std::int32_t start() { return 0; }

  OMPTOOL_DEVICE_FUNCTIONS(virtual, = 0);

  // Questions, which a device that has not started answers, too: omptarget_rtl.h has them.
  virtual bool shares_host_memory() const { return false; }
  virtual bool memory_is_addressable() const { return false; }
  virtual bool moves_like_memmove() const { return false; }
  virtual bool prefers_queues() const { return true; }
};

} // namespace omptool::plugin

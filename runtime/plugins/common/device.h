// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base class of a plugin's devices. Each plugin derives its own class.
#pragma once

#include "events.h"
#include "omptarget_rtl.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace omptool::plugin {

using Arguments = std::span<void*>; // of a kernel

// Declares the functions that each plugin's device implements: `OMPTOOL_DEVICE_FUNCTIONS(virtual, = 0)` in the base
// class, `OMPTOOL_DEVICE_FUNCTIONS(, override)` in a plugin's class.
//
// `kind` is one of OMPTARGET_MEMORY_.... Functions whose names begin with queue_ enqueue the operation that their
// namesakes complete before they return. No size is 0. Without a shape a kernel runs as one team of one thread. The
// last two functions also answer for a device that has not started (omptarget_rtl.h); if reaches_host_memory() returns
// false, last_error may have the reason.
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

// A device of a plugin. The exported functions (exports.cpp) have checked the core's values: sizes, kinds of memory and
// numbers of arguments. Functions that return a number return 0, or a failure with last_error set; functions that
// return an address return null on failure.
class Device {
public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // start() is called before every other function except queries, until it succeeds.
  virtual bool has_started() const { return true; }
  virtual std::int32_t start() { return 0; }

  OMPTOOL_DEVICE_FUNCTIONS(virtual, = 0);

  // Queries, which a device answers before it has started, too: omptarget_rtl.h describes them.
  virtual bool shares_host_memory() const { return false; }
  virtual bool memory_is_addressable() const { return false; }
  virtual bool moves_like_memmove() const { return false; }
  virtual bool prefers_queues() const { return true; }
};

} // namespace omptool::plugin

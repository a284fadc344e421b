// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU as a device: images as shared objects, memory of its own, kernels on a pool of threads.
#pragma once

#include "common/device.h"
#include "common/images.h"
#include "image.h"
#include "launch.h"

#include <cstddef>
#include <cstdint>

namespace omptool::host {

class Plugin;
class Queue;

class Device : public plugin::Device {
public:
  Device(std::int32_t number, Plugin& all);

  tgt_target_table* load(const __tgt_device_image& image) override;
  std::int32_t unload(const __tgt_device_image& image) override;

  // Memory of every kind is the host's here, and every device reaches all of it.
  void* allocate(std::size_t size, std::int32_t kind) override;
  std::int32_t release(void* memory, std::int32_t kind) override;

  std::int32_t submit(void* target, const void* source, std::size_t size) override;
  std::int32_t retrieve(void* target, const void* source, std::size_t size) override;
  std::int32_t fill(void* target, std::int32_t value, std::size_t size) override;
  std::int32_t receive(void* target, plugin::Device& from, const void* source, std::size_t size) override;
  std::int32_t run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape) override;

  std::int32_t queue_nothing(const plugin::Dependences& order) override;
  std::int32_t queue_submit(void* target, const void* source, std::size_t size,
                            const plugin::Dependences& order) override;
  std::int32_t queue_retrieve(void* target, const void* source, std::size_t size,
                              const plugin::Dependences& order) override;
  std::int32_t queue_fill(void* target, std::int32_t value, std::size_t size,
                          const plugin::Dependences& order) override;
  std::int32_t queue_run(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape,
                         const plugin::Dependences& order) override;

  bool shares_host_memory() const override;
  bool memory_is_addressable() const override { return true; }
  bool reaches_host_memory() const override { return true; }
  bool moves_like_memmove() const override;
  bool prefers_queues() const override;
  std::int32_t describe(tgt_device_description& description) const override;

  // Returns whether the image of this kernel calls the host's libomp for parallel regions.
  bool opens_parallel(const void* kernel) {
    return images_.any_is([&](const Image& image) { return image.opens_parallel(kernel); });
  }

private:
  const Launcher launcher_;
  Queue& queue_;
  plugin::Images<Image> images_;
};

} // namespace omptool::host

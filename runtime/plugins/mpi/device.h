// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device of a worker.
#pragma once

#include "common/device.h"
#include "common/images.h"
#include "image.h"
#include "image_kind.h"
#include "memory.h"
#include "queue.h"

#include <atomic>

namespace omptool::mpi {

// Names a device among all workers.
struct Place {
  std::size_t worker;  // its rank
  std::int32_t number; // among the worker's
};

class Device final : public plugin::Device {
public:
  Device(Place place, DeviceOfWorker known, Queue& queue, ImageStore& images);

  const Place& place() const { return place_; }
  bool makes_teams() const { return known_.makes_teams; }
  bool takes_shape(const void* kernel) {
    return loaded_.any_is([&](const Image& image) { return image.takes_shape(kernel); });
  }
  bool may_take(ImageKind kind) const { return mpi::may_take(known_.plugin, kind); }

  bool has_started() const override { return has_started_.load(std::memory_order_acquire); }
  std::int32_t start() override;

  tgt_target_table* load(const __tgt_device_image& image) override { return load(image, nullptr); }
  tgt_target_table* load(const __tgt_device_image& image, const std::int64_t* extents);
  std::int32_t unload(const __tgt_device_image& image) override;

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

  bool reaches_host_memory() const override;
  std::int32_t describe(tgt_device_description& description) const override;

private:
  // Does it now, where there is no order, or later.
  std::int32_t ask(Operation&& operation, HostSide host, const plugin::Dependences* order);
  std::int32_t copy(void* target, plugin::Device& from, const void* source, std::size_t size,
                    const plugin::Dependences* order);
  std::int32_t launch(void* kernel, plugin::Arguments arguments, const tgt_launch_shape* shape,
                      const plugin::Dependences* order);

  const Place place_;
  const DeviceOfWorker known_;
  Queue& queue_;
  ImageStore& images_;
  plugin::Images<Image> loaded_;
  Memory memory_;
  std::atomic<bool> has_started_{false};
};

} // namespace omptool::mpi

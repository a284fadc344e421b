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
  OMPTOOL_DEVICE_FUNCTIONS(, override);

  tgt_target_table* load(const __tgt_device_image& image, const std::int64_t* extents);

private:
  // Sends the operation: waits for it without an order, else enqueues it.
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

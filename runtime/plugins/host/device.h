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

  OMPTOOL_DEVICE_FUNCTIONS(, override);

  bool shares_host_memory() const override;
  bool memory_is_addressable() const override { return true; }
  bool moves_like_memmove() const override;
  bool prefers_queues() const override;

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

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU as a device. Calls wait for what they do, but for those that name a stream.
#pragma once

#include "common/device.h"
#include "common/images.h"
#include "driver/context.h"
#include "driver/host_memory.h"
#include "driver/memory.h"
#include "driver/staging.h"
#include "driver/streams.h"
#include "image.h"
#include "launch.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace omptool::cuda {

// Names of copies in errors, followed by " of 8 bytes".
constexpr char kSubmit[] = "a copy to the GPU", kRetrieve[] = "a copy from the GPU", kFill[] = "a fill",
               kReceive[] = "a copy between GPUs";

class Queue;

struct DeviceId {
  std::int32_t number, count; // among the plugin's
  CUdevice device;            // the driver's
  int capability;             // 90 of sm_90
};

class Device : public plugin::Device {
public:
  Device(const Driver& driver, const DeviceId& id, Queue& queue) : id_(id), queue_(queue), context_(driver) {
    context_.give_memory_back = [this] { return memory_.give_back(); };
  }

  bool has_started() const override { return is_ready_.load(std::memory_order_acquire); }
  std::int32_t start() override;
  OMPTOOL_DEVICE_FUNCTIONS(, override);

  tgt_target_table* load(const __tgt_device_image& image, Extents extents);

  int capability() const { return id_.capability; }
  const Context& context() const { return context_; }
  Launcher launcher() { return {id_.number, context_, limits_, memory_}; }
  Memory& memory() { return memory_; }
  HostMemory& host_memory() { return host_memory_; }
  Streams& streams() { return streams_; }
  Marks& marks() { return marks_; }

private:
  bool start_now();
  Outcome find_limits();
  Outcome set_limits();

  // Stages a copy. The stream's context must be current.
  std::optional<Outcome> stage(CUstream stream, Staging::Way way, const void* device, const void* host,
                               std::size_t size);
  Outcome submit_in(CUstream stream, void* target, const void* source, std::size_t size);
  Outcome retrieve_in(CUstream stream, void* target, const void* source, std::size_t size);
  Outcome fill_in(CUstream stream, void* target, std::int32_t value, std::size_t size) const;
  // Queues what `move(stream)` does, and waits for it.
  template <typename Move> std::int32_t move_now(const char* what, std::size_t size, const Move& move);

  const DeviceId id_;
  Queue& queue_;
  Context context_;
  DeviceLimits limits_;
  Streams streams_{context_};
  Marks marks_{context_};
  Memory memory_{context_};
  HostMemory host_memory_{context_};
  Staging staging_{context_};
  bool shares_page_tables_ = false; // with the host
  std::mutex mutex_;
  std::atomic<bool> is_ready_{false};
  plugin::Images<Image> images_;
};

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU as a device. Calls wait for what they do, but for those that name a stream.
#pragma once

#include "driver/context.h"
#include "driver/host_memory.h"
#include "driver/memory.h"
#include "driver/staging.h"
#include "driver/streams.h"
#include "image.h"
#include "launch.h"
#include "staged_copy.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace omptool::cuda {

// Names of copies in errors, followed by " of 8 bytes".
constexpr char kSubmit[] = "a copy to the GPU", kRetrieve[] = "a copy from the GPU", kFill[] = "a fill",
               kReceive[] = "a copy between GPUs";

// Path of a copy between the host's memory and the device's. The driver copies page-locked memory in the stream, and
// other memory during the call; staged_copy.h copies large parts of the latter.
enum class Path { kOfDriver, kStaged };

class Device {
public:
  // Of the driver's device; `capability` is 90 of sm_90.
  Device(const Driver& driver, std::int32_t number, std::int32_t count, CUdevice device, int capability)
      : number_(number), count_(count), device_(device), capability_(capability), context_(driver) {
    context_.give_memory_back = [this] { return memory_.give_back(); };
  }

  // The first call does it. False, with last_error set: the next may try again.
  bool initialise();

  tgt_target_table* load(const __tgt_device_image* image, Extents extents);
  std::int32_t unload(const __tgt_device_image* image);
  CUdeviceptr allocate(std::int64_t size) { return memory_.allocate(size); }
  std::int32_t release(void* memory) { return memory_.release(reinterpret_cast<CUdeviceptr>(memory)); }
  std::int32_t submit(void* target, const void* source, std::int64_t size);
  std::int32_t retrieve(void* target, const void* source, std::int64_t size);
  std::int32_t fill(void* target, std::int32_t value, std::int64_t size);
  std::int32_t receive(void* target, const Device& from, const void* source, std::int64_t size);
  std::int32_t run(void* kernel, Arguments arguments, const tgt_launch_shape& asked);

  Path path_of(const void* host, std::int64_t size);
  // The context is the stream's.
  Outcome queue_submit(void* target, const void* source, std::size_t size, CUstream stream, Path path);
  Outcome queue_retrieve(void* target, const void* source, std::size_t size, CUstream stream, Path path);
  Outcome queue_fill(void* target, std::int32_t value, std::size_t size, CUstream stream) const;
  Outcome queue_receive(void* target, const Device& from, const void* source, std::size_t size, CUstream stream) const;

  // Without a context. 0, or what a failing call returns.
  std::int32_t describe(tgt_device_description& description) const;

  // False, with last_error set.
  bool reaches_host_memory() const;

  int capability() const { return capability_; }
  const Context& context() const { return context_; }
  Launcher launcher() { return {number_, context_, limits_, memory_}; }
  Memory& memory() { return memory_; }
  HostMemory& host_memory() { return host_memory_; }
  Staging& gathers() { return gathers_; } // of small copies
  Streams& streams() { return streams_; }
  Marks& marks() { return marks_; }

private:
  bool initialise_now();
  Outcome find_limits(bool& has_pools);
  Outcome set_limits();
  // Queues what `queue(bytes, stream)` does, and waits for it.
  template <typename Queue> std::int32_t move(std::int64_t size, const char* what, const Queue& queue);

  const std::int32_t number_;
  const std::int32_t count_; // of devices
  const CUdevice device_;
  const int capability_;
  Context context_;
  DeviceLimits limits_;
  Streams streams_{context_};
  Marks marks_{context_};
  Memory memory_{context_};
  HostMemory host_memory_{context_};
  Staging gathers_{context_, 1 << 16, 16, 4};
  Staging pieces_{context_, 1 << 20, 2, 4}; // of large copies: two for each thread
  std::mutex mutex_;
  std::atomic<bool> is_ready_{false};
  std::map<const __tgt_device_image*, std::unique_ptr<Image>> images_; // under the lock
};

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device of OpenCL: its context, images, memory and queues.
#pragma once

#include "common/device.h"
#include "common/images.h"
#include "image.h"
#include "memory.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace omptool::opencl {

class Queue;

class Device : public plugin::Device {
public:
  Device(const Loader& cl, Found found, Queue& queue) : found_(std::move(found)), cl_(cl), queue_(queue) {}

  bool has_started() const override { return started_.load(std::memory_order_acquire) != nullptr; }
  std::int32_t start() override;
  OMPTOOL_DEVICE_FUNCTIONS(, override);

  bool shares_host_memory() const override { return found_.memory == MemoryKind::kShared; }
  bool memory_is_addressable() const override { return found_.is_direct; }
  bool moves_like_memmove() const override { return found_.is_direct; }
  // Prefers queues unless the driver moves nothing: then only kernels would be queued, and the host waits for each.
  bool prefers_queues() const override { return !found_.is_direct; }

  // Returns an idle queue of OpenCL's. Throws the reason where OpenCL makes none.
  cl_command_queue take_queue();
  void give_back(cl_command_queue queue);

private:
  struct Started {
    cl_context context;
    Memory memory;
  };

  Memory& memory() const { return started_.load(std::memory_order_acquire)->memory; }
  std::int32_t copy(void* target, const void* source, std::size_t size);
  std::int32_t queue_copy(void* target, const void* source, std::size_t size, const plugin::Dependences& order);
  // Runs a kernel without arguments by one thread. Null: there is none.
  std::int32_t run_alone(Kernel* kernel);
  std::int32_t run_now(Kernel& kernel, const Launch& launch);
  // Queues what `enqueue(queue, order)` does, and waits for it. `call` is its name.
  template <typename Enqueue> std::int32_t run_now(const std::string& call, const Enqueue& enqueue);

  const Found found_;
  const Loader& cl_;
  Queue& queue_;
  std::atomic<Started*> started_{nullptr}; // never destroyed
  Loans loans_;
  plugin::Images<Image> images_;
  std::mutex mutex_;
  std::vector<cl_command_queue> idle_; // under the lock
};

} // namespace omptool::opencl

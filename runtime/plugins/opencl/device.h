// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device of OpenCL: its context, images, memory and queues.
#pragma once

#include "image.h"
#include "memory.h"
#include "queue.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace omptool::opencl {

class Device {
public:
  Device(const Loader& cl, Found found) : found_(std::move(found)), cl_(cl) {}

  const Found& found() const { return found_; }

  // 0, or a failure, with last_error set, as of the functions below. Those need a device that has started.
  std::int32_t start();
  bool has_started() const { return started_.load(std::memory_order_acquire) != nullptr; }

  tgt_target_table* load(__tgt_device_image* image);
  std::int32_t unload(const __tgt_device_image* image);
  Memory& memory() const { return started_.load(std::memory_order_acquire)->memory; }
  std::int32_t copy(void* target, const void* source, std::int64_t size);
  std::int32_t fill(void* target, std::int32_t value, std::int64_t size);
  std::int32_t run(void* kernel, void** arguments, std::int32_t count, Shape shape);

  // Queues what does nothing: 0, or an error of OpenCL's.
  cl_int mark(cl_command_queue queue, const Order& order) const;

  // An idle queue. Throws what says why there is none.
  cl_command_queue take_queue();
  void give_back(cl_command_queue queue);

private:
  struct Started {
    cl_context context;
    Memory memory;
  };

  // Queues what `enqueue(queue, order)` does, and waits for it. `call` is its name.
  template <typename Enqueue> std::int32_t run_now(const std::string& call, const Enqueue& enqueue);

  const Found found_;
  const Loader& cl_;
  std::atomic<Started*> started_{nullptr}; // never destroyed
  std::mutex mutex_;
  // Under the lock.
  std::map<const __tgt_device_image*, std::unique_ptr<Image>> images_;
  std::vector<cl_command_queue> idle_;
};

} // namespace omptool::opencl

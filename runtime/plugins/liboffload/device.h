// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device of liboffload. Its functions wait for their operation, except those with an order.
#pragma once

#include "common/device.h"
#include "common/images.h"
#include "image.h"

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace omptool::liboffload {

class Queue;

class Device : public plugin::Device {
public:
  Device(const Library& library, ol_device host, Found found, Queue& queue)
      : library_(library), host_(host), found_(std::move(found)), queue_(queue) {}

  // Returns whether the device has started: all functions but the queries need that.
  bool has_started() const override { return has_started_.load(std::memory_order_acquire); }
  std::int32_t start() override;

  tgt_target_table* load(const __tgt_device_image& image) override;
  std::int32_t unload(const __tgt_device_image& image) override { return images_.take(image) ? 0 : 1; }

  void* allocate(std::size_t size, std::int32_t kind) override;
  std::int32_t release(void* memory, std::int32_t kind) override;
  void* lock(void* memory, std::int64_t size);
  std::int32_t unlock(void* memory);

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

  const Found& found() const { return found_; }
  // Returns an idle queue. Throws the reason where the library makes none.
  ol_queue take_queue();
  void give_back(ol_queue queue, bool is_broken);

  // Returns what a failing function shall, with last_error set: 1, or that the device is lost.
  std::int32_t fail_of(const std::string& what, const char* call, ol_result failed);
  // Returns whether the reason is a lost device: after a failure, a copy that fails, too, shows that the device is lost
  // for good.
  bool is_lost_by(const std::string& reason);
  // Returns 0, or that the device is lost, with last_error set.
  std::int32_t fault_if_lost() const;

private:
  Launcher launcher() const { return {library_, found_, host_, context_}; }
  // Returns 0, or what a failing function shall.
  std::int32_t result_of(const std::string& what, const char* call, ol_result failed) {
    return failed ? fail_of(what, call, failed) : 0;
  }
  std::int32_t copy(const char* way, void* target, ol_device to, const void* source, ol_device from, std::size_t size);
  std::int32_t queue_copy(const char* way, void* target, ol_device to, const void* source, ol_device from,
                          std::size_t size, const plugin::Dependences& order);
  std::int32_t launch_in(ol_queue queue, Launch& launch, void*& lent);
  // Queues what `enqueue(queue)` does, and waits for it.
  template <typename Enqueue> std::int32_t run_now(const std::string& what, const Enqueue& enqueue);

  const Library& library_;
  const ol_device host_;
  const Found found_;
  Queue& queue_;
  ol_context context_ = nullptr; // once it has started; never destroyed
  std::atomic<bool> has_started_{false};
  std::atomic<bool> is_lost_{false};
  plugin::Images<Image> images_;
  std::mutex mutex_;
  std::vector<ol_queue> idle_; // under the lock
  std::string why_lost_;       // written once, before is_lost_
};

} // namespace omptool::liboffload

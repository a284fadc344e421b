// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of the asynchronous functions: commands of in-order queues, and their events. omptarget_rtl.h says
// what streams and events are.
#pragma once

#include "faults.h"
#include "memory.h"
#include "omptarget_rtl.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace omptool::opencl {

class Device;

// A queue of a device's that operations run in one after another; the device has it back in the end.
class Stream {
public:
  explicit Stream(Device& its_device); // throws what says why there is none
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device;
  const cl_command_queue queue;
};

// An operation, as long as it has not completed or its event is not released.
struct Event {
  std::uintptr_t id = 0;
  std::string what; // "kernel saxpy", "clEnqueueMemcpyINTEL"
  std::shared_ptr<Stream> stream;
  cl_event event = nullptr; // until it has completed
  bool is_done = false;
  bool is_released = false;
  std::string failure;                        // once it is done
  bool is_lost = false;                       // the device is, and that is why it failed
  std::vector<std::shared_ptr<Event>> before; // until it is done
  Running running;                            // the same, of a kernel
};

// Of one process.
class Queue {
public:
  // Queues a command: 0, or an error, with last_error set; what it returns, add() returns.
  using Enqueue = std::function<std::int32_t(cl_command_queue, const Order&)>;

  explicit Queue(const Loader& cl) : cl_(cl) {}

  // These return 0, or a failure, with last_error set.
  std::int32_t add(Device& device, std::span<const tgt_event_t> dependences, std::string what, Running running,
                   const Enqueue& enqueue, tgt_event_t& made);
  std::int32_t release(tgt_event_t event);
  std::int32_t wait(tgt_event_t event);
  std::int32_t query(tgt_event_t event); // or OMPTARGET_RTL_PENDING
  bool is_live(tgt_event_t event, const Device& device);

  static void set_callback(tgt_callback_fct callback);

private:
  using Known = std::shared_ptr<Event>;

  static void completed(cl_event event, cl_int status, void* id);
  void complete(std::uintptr_t id, cl_int status);
  // With the lock held.
  Known find(tgt_event_t event) const; // or null, and fail()
  bool take_dependences(const Device& device, std::span<const tgt_event_t> dependences, Event& event,
                        std::vector<cl_event>& before);
  void end(const Known& event);
  std::int32_t wait_by_looking(tgt_event_t event);
  std::int32_t result_of(const Event& event) const;
  std::int32_t result_of(const Event& event, cl_int status) const;
  // Without it.
  void publish(const Known& event);

  const Loader& cl_;
  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, Known> events_;
};

} // namespace omptool::opencl

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of the asynchronous functions: commands of in-order queues, and their events. omptarget_rtl.h says
// what streams and events are.
#pragma once

#include "common/events.h"
#include "faults.h"
#include "memory.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace omptool::opencl {

class Device;

// A queue of a device's that operations run in one after another; the device has it back in the end.
class Stream {
public:
  explicit Stream(Device& its_device); // throws the reason where OpenCL makes none
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device;
  const cl_command_queue queue;
};

// All of it is under the lock of the events.
struct Operation : plugin::Event {
  std::string what; // "kernel saxpy", "clEnqueueMemcpyINTEL"
  std::shared_ptr<Stream> stream;
  cl_event event = nullptr;                       // until it is done
  std::vector<std::shared_ptr<Operation>> before; // until it is done
  Running running;                                // the same, of a kernel
  std::shared_ptr<void> lent;                     // the same: memory that it uses
};
using OperationPtr = std::shared_ptr<Operation>;

// Of one process.
class Queue {
public:
  using Lock = plugin::Events::Lock;
  // Queues a command: 0, or an error, with last_error set; what it returns, add() returns.
  using Enqueue = std::function<std::int32_t(cl_command_queue, const Order&)>;

  Queue(plugin::Events& events, const Loader& cl) : events_(events), cl_(cl) {}

  // 0, or a failure, with last_error set.
  std::int32_t add(Device& device, const plugin::Dependences& order, std::string what, Running running,
                   const Enqueue& enqueue, std::shared_ptr<void> lent = {});
  // With the lock held, which the first gives up in between.
  void await(Operation& operation, Lock& lock);
  void look_at(Operation& operation);

private:
  static void completed(cl_event event, cl_int status, void* operation);
  // With the lock held.
  bool take_dependences(const Device& device, const plugin::Dependences& order, Operation& operation,
                        std::vector<cl_event>& before);
  void complete(Operation& operation, cl_int status);
  void await_by_looking(Operation& operation, Lock& lock);
  // Without it.
  void publish(const OperationPtr& operation);

  plugin::Events& events_;
  const Loader& cl_;
};

} // namespace omptool::opencl

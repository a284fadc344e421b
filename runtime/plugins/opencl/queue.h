// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue of asynchronous operations: commands of in-order queues, and their events. omptarget_rtl.h defines streams and
// events.
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

// Stream: a queue of a device in which operations run one after another. The device gets it back in the end.
class Stream {
public:
  explicit Stream(Device& its_device); // throws the reason where OpenCL makes none
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device;
  const cl_command_queue queue;
};

// Operation of the queue, guarded by the lock of the events.
struct Operation : plugin::Event {
  std::string what; // "kernel saxpy", "clEnqueueMemcpyINTEL"
  std::shared_ptr<Stream> stream;
  cl_event event = nullptr;                       // until it is done
  std::vector<std::shared_ptr<Operation>> before; // until it is done
  Running running;                                // the same, of a kernel
  std::shared_ptr<void> lent;                     // the same: memory that it uses
};
using OperationPtr = std::shared_ptr<Operation>;

// Queue of one process.
class Queue {
public:
  using Lock = plugin::Events::Lock;
  // Queues a command: 0, or an error, with last_error set; what it returns, add() returns.
  using Enqueue = std::function<std::int32_t(cl_command_queue, const Order&)>;

  Queue(plugin::Events& events, const Loader& cl) : events_(events), cl_(cl) {}

  // Adds an operation. Returns 0, or a failure with last_error set.
  std::int32_t add(Device& device, const plugin::Dependences& order, std::string what, Running running,
                   const Enqueue& enqueue, std::shared_ptr<void> lent = {});
  // Require the lock, which await() releases while it waits.
  void await(Operation& operation, Lock& lock);
  void look_at(Operation& operation);

private:
  static void completed(cl_event event, cl_int status, void* operation);
  // Requires the lock.
  bool take_dependences(const Device& device, const plugin::Dependences& order, Operation& operation,
                        std::vector<cl_event>& before);
  void complete(Operation& operation, cl_int status);
  void await_by_looking(Operation& operation, Lock& lock);
  // Called without the lock.
  void publish(const OperationPtr& operation);

  plugin::Events& events_;
  const Loader& cl_;
};

} // namespace omptool::opencl

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue of asynchronous operations: commands of in-order queues, and their events. omptarget_rtl.h defines streams and
// events. The plugin polls for completed operations, because a queue that has failed makes no callback.
#pragma once

#include "common/events.h"
#include "library.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace omptool::liboffload {

class Device;

// Stream: a queue of the device in which operations run one after another. The device gets it back in the end.
class Stream {
public:
  explicit Stream(Device& its_device); // throws the reason where the library makes none
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device;
  const ol_queue queue;
  std::mutex mutex;    // held while an operation enters the queue
  std::string failure; // first failure of an operation in it, or ""; under the lock of the events
};

// Mark: an event of the library. Its stream outlives it.
class Mark {
public:
  Mark(const Library& library, ol_event its_event) : event(its_event), library_(library) {}
  ~Mark() { library_.olDestroyEvent(event); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  const ol_event event;

private:
  const Library& library_;
};

// Operation of the queue, guarded by the lock of the events.
struct Operation : plugin::Event {
  std::string what; // "kernel saxpy", "a copy to the GPU of 8 bytes"
  bool is_kernel = false;
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Mark> mark;                     // until it is done
  std::vector<std::shared_ptr<Operation>> before; // until it is done
  void* lent = nullptr;                           // until it is done
};
using OperationPtr = std::shared_ptr<Operation>;

// Queues of all devices of one process, with their operations in flight.
class Queue {
public:
  using Lock = plugin::Events::Lock;
  // Enqueues a command, and may set `lent` to memory that it lends. Returns 0, or what add() returns, with last_error
  // set.
  using Enqueue = std::function<std::int32_t(ol_queue, void*& lent)>;

  Queue(plugin::Events& events, const Library& library) : events_(events), library_(library) {}

  // Adds an operation. Returns 0, or a failure with last_error set.
  std::int32_t add(Device& device, const plugin::Dependences& order, std::string what, bool is_kernel,
                   const Enqueue& enqueue);
  // Require the lock, and release it while they wait.
  void await(const OperationPtr& operation, Lock& lock);
  void look_at(const OperationPtr& operation, Lock& lock);
  bool process();

private:
  // Requires the lock.
  bool take_dependences(const Device& device, const plugin::Dependences& order, Operation& operation,
                        std::vector<std::shared_ptr<Mark>>& marks);
  void end(const OperationPtr& operation, const std::string& failure, bool is_lost);
  void fail_from(const OperationPtr& operation, const std::string& reason, bool is_lost);
  // Require the lock, and release it while they wait.
  void end_dependences(const OperationPtr& operation, Lock& lock);
  void take_in(const OperationPtr& operation, const char* call, ol_result failed, Lock& lock);
  void release_lent(Lock& lock);
  // Called without the lock.
  void name_guilty(const Stream& stream);
  std::int32_t enter(const OperationPtr& operation, const std::vector<std::shared_ptr<Mark>>& marks,
                     const Enqueue& enqueue, std::string& late_failure);

  plugin::Events& events_;
  const Library& library_;
  std::vector<OperationPtr> going_; // under the lock; in the order in which they were added
  std::vector<std::pair<Device*, void*>> lent_;
};

} // namespace omptool::liboffload

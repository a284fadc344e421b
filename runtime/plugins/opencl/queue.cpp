// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "common/calls.h"
#include "device.h"
#include "loader.h"
#include "plugin.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace omptool::opencl {
namespace {

// Retained OpenCL events: they stay valid until the call that waits for them has returned.
class Retained {
public:
  Retained(const Loader& cl, std::vector<cl_event>& events) : cl_(cl), events_(events) {}
  ~Retained() {
    for (const cl_event event : events_)
      cl_.clReleaseEvent(event);
  }
  Retained(const Retained&) = delete;
  Retained& operator=(const Retained&) = delete;

private:
  const Loader& cl_;
  std::vector<cl_event>& events_;
};

} // namespace

Stream::Stream(Device& its_device) : device(its_device), queue(its_device.take_queue()) {}

Stream::~Stream() {
  device.give_back(queue);
}

// Collects the events of the dependences. Returns false, with last_error set, if one is no event. A dependence that has
// succeeded needs no wait.
bool Queue::take_dependences(const Device& device, const plugin::Dependences& order, Operation& operation,
                             std::vector<cl_event>& before) {
  for (const tgt_event_t& dependence : order.before) {
    const OperationPtr known = dependence ? events_.find<Operation>(dependence) : nullptr;
    if (dependence && !known)
      return false;
    if (known && &known->stream->device != &device)
      return fail("the event is one of another device, for which this device cannot wait"), false;
    if (&dependence == &order.before.front() && known)
      operation.stream = known->stream;
    if (!known || (known->is_done && !known->has_failed()))
      continue;
    operation.before.push_back(known);
    if (known->is_done)
      continue;
    if (const cl_int error = cl_.clRetainEvent(known->event))
      return fail(failure_of("clRetainEvent", error)), false;
    before.push_back(known->event);
  }
  return true;
}

std::int32_t Queue::add(Device& device, const plugin::Dependences& order, std::string what, Running running,
                        const Enqueue& enqueue, std::shared_ptr<void> lent) {
  const auto operation = std::make_shared<Operation>();
  operation->what = std::move(what);
  operation->running = std::move(running);
  operation->lent = std::move(lent);
  std::vector<cl_event> before;
  const Retained retained(cl_, before);
  bool has_failed = false;
  {
    const Lock lock = events_.lock();
    if (!take_dependences(device, order, *operation, before))
      return 1;
    has_failed = std::any_of(operation->before.begin(), operation->before.end(),
                             [](const OperationPtr& known) { return known->is_done; });
  }
  if (!operation->stream)
    operation->stream = std::make_shared<Stream>(device);
  if (!has_failed)
    if (const std::int32_t result = enqueue(operation->stream->queue, {before, &operation->event})) {
      const auto fails = [&](cl_event dependence) { return status_of(cl_, dependence) < 0; };
      if (std::none_of(before.begin(), before.end(), fails))
        return result;
      operation->event = nullptr; // a dependence has failed in the meantime
    }
  order.made = operation->handle();
  publish(operation);
  return 0;
}

// Publishes the operation: from now on callers find it, and it may complete.
void Queue::publish(const OperationPtr& operation) {
  const cl_event own = operation->event;
  {
    const Lock lock = events_.lock();
    events_.add(operation);
    if (!own) // what it depends on has failed
      return complete(*operation, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }
  const bool is_kept = cl_.clRetainEvent(own) == CL_SUCCESS; // nobody else knows it yet
  auto shared = std::make_unique<OperationPtr>(operation);
  const bool is_told = is_kept && cl_.clSetEventCallback(own, CL_COMPLETE, completed, shared.get()) == CL_SUCCESS;
  if (is_told)
    shared.release(); // it is the callback's
  cl_.clFlush(operation->stream->queue);
  if (!is_told) { // then it is waited for here
    const cl_int status = wait_for(cl_, own);
    const Lock lock = events_.lock();
    complete(*operation, status);
  }
  if (is_kept)
    cl_.clReleaseEvent(own);
}

// Called on a thread of the driver, or on any thread that waits.
void Queue::completed(cl_event, cl_int status, void* operation) {
  const std::unique_ptr<OperationPtr> own(static_cast<OperationPtr*>(operation)); // goes without the lock
  if (plugin::Plugin* const known = plugin::known_plugin()) {
    const Lock lock = known->events.lock();
    static_cast<Plugin*>(known)->queue.complete(**own, status);
  }
}

// Completes an operation. The driver calls back in any order, and behind a failure it reports only that something
// failed.
void Queue::complete(Operation& operation, cl_int status) {
  if (operation.is_done)
    return;
  std::string failure = status < 0 ? failure_of(operation.what.c_str(), status) : "";
  bool is_lost = status == CL_DEVICE_NOT_AVAILABLE;
  const std::vector<OperationPtr> before = std::exchange(operation.before, {});
  for (const OperationPtr& one : before) {
    if (status < 0)
      look_at(*one);
    if (one->has_failed()) {
      failure = one->failure;
      is_lost = one->is_lost;
    }
  }
  operation.running = {};
  operation.lent = {};
  if (const cl_event own = std::exchange(operation.event, nullptr))
    cl_.clReleaseEvent(own);
  operation.failure = std::move(failure);
  events_.end(operation, is_lost);
}

void Queue::look_at(Operation& operation) {
  if (operation.is_done)
    return;
  if (const cl_int status = status_of(cl_, operation.event); status <= CL_COMPLETE)
    complete(operation, status);
}

// Awaits an operation by polling, on drivers whose events cannot be retained.
void Queue::await_by_looking(Operation& operation, Lock& lock) {
  while (look_at(operation), !operation.is_done) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.lock();
  }
}

void Queue::await(Operation& operation, Lock& lock) {
  if (operation.is_done)
    return;
  const cl_event own = operation.event;
  if (cl_.clRetainEvent(own) != CL_SUCCESS)
    return await_by_looking(operation, lock);
  lock.unlock();
  const cl_int status = wait_for(cl_, own);
  cl_.clReleaseEvent(own);
  lock.lock();
  complete(operation, status);
}

} // namespace omptool::opencl

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "common/calls.h"
#include "device.h"
#include "driver.h"
#include "loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace omptool::opencl {
namespace {

constinit std::atomic<tgt_callback_fct> the_callback{nullptr};
// In a child of fork() no event has a number of its parent's.
constinit std::atomic<std::uintptr_t> events_made{0};

tgt_event_t handle_of(const Event& event) {
  return reinterpret_cast<tgt_event_t>(event.id);
}

// The events of OpenCL that a call waits for stay until it has returned.
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

void Queue::set_callback(tgt_callback_fct callback) {
  the_callback = callback;
}

Queue::Known Queue::find(tgt_event_t event) const {
  const auto at = events_.find(reinterpret_cast<std::uintptr_t>(event));
  if (at != events_.end() && !at->second->is_released)
    return at->second;
  fail("event " + std::to_string(reinterpret_cast<std::uintptr_t>(event)) + " is released, or none of this plugin's");
  return nullptr;
}

// False, and fail(): one is none. What has completed well needs no waiting for.
bool Queue::take_dependences(const Device& device, std::span<const tgt_event_t> dependences, Event& event,
                             std::vector<cl_event>& before) {
  for (const tgt_event_t& dependence : dependences) {
    const Known known = dependence ? find(dependence) : nullptr;
    if (dependence && !known)
      return false;
    if (known && &known->stream->device != &device)
      return fail("an event of another device, which this one cannot wait for"), false;
    if (&dependence == &dependences.front() && known)
      event.stream = known->stream;
    if (!known || (known->is_done && known->failure.empty()))
      continue;
    event.before.push_back(known);
    if (known->is_done)
      continue;
    if (const cl_int error = cl_.clRetainEvent(known->event))
      return fail(failure_of("clRetainEvent", error)), false;
    before.push_back(known->event);
  }
  return true;
}

std::int32_t Queue::add(Device& device, std::span<const tgt_event_t> dependences, std::string what, Running running,
                        const Enqueue& enqueue, tgt_event_t& made) {
  const auto event = std::make_shared<Event>();
  event->what = std::move(what);
  event->running = std::move(running);
  std::vector<cl_event> before;
  const Retained retained(cl_, before);
  bool has_failed = false;
  {
    const std::lock_guard lock(mutex_);
    if (!take_dependences(device, dependences, *event, before))
      return 1;
    has_failed =
        std::any_of(event->before.begin(), event->before.end(), [](const Known& known) { return known->is_done; });
  }
  if (!event->stream)
    event->stream = std::make_shared<Stream>(device);
  if (!has_failed)
    if (const std::int32_t result = enqueue(event->stream->queue, {before, &event->event})) {
      const auto fails = [&](cl_event dependence) { return status_of(cl_, dependence) < 0; };
      if (std::none_of(before.begin(), before.end(), fails))
        return result;
      event->event = nullptr; // a dependence has failed in the meantime
      event->failure = "an operation that it depends on has failed";
    }
  event->id = ++events_made;
  made = handle_of(*event);
  publish(event);
  return 0;
}

// From now on it is known, and completes.
void Queue::publish(const Known& event) {
  const cl_event own = event->event;
  {
    const std::lock_guard lock(mutex_);
    events_.emplace(event->id, event);
    if (!own)
      return end(event); // what it depends on has failed
  }
  const bool is_kept = cl_.clRetainEvent(own) == CL_SUCCESS; // nobody else knows it yet
  const bool is_told =
      is_kept && cl_.clSetEventCallback(own, CL_COMPLETE, completed, reinterpret_cast<void*>(event->id)) == CL_SUCCESS;
  cl_.clFlush(event->stream->queue);
  if (!is_told) // then it is waited for here
    complete(event->id, wait_for(cl_, own));
  if (is_kept)
    cl_.clReleaseEvent(own);
}

// On a thread of the driver's, or on any that waits.
void Queue::completed(cl_event, cl_int status, void* id) {
  if (Driver* const known = the_driver.load(std::memory_order_acquire))
    known->queue.complete(reinterpret_cast<std::uintptr_t>(id), status);
}

void Queue::complete(std::uintptr_t id, cl_int status) {
  Known event;
  {
    const std::lock_guard lock(mutex_);
    const auto at = events_.find(id);
    if (at == events_.end() || at->second->is_done)
      return;
    event = at->second;
    if (status < 0) {
      event->failure = failure_of(event->what.c_str(), status);
      event->is_lost = status == CL_DEVICE_NOT_AVAILABLE;
    }
    end(event);
  }
  // The things that it holds go without the lock.
}

void Queue::end(const Known& event) {
  event->is_done = true;
  for (const Known& before : event->before)
    if (before->is_done && !before->failure.empty()) {
      event->failure = before->failure;
      event->is_lost = before->is_lost;
    }
  event->before.clear();
  event->running = {};
  if (const cl_event own = std::exchange(event->event, nullptr))
    cl_.clReleaseEvent(own);
  if (const tgt_callback_fct callback = the_callback; callback && !event->is_released)
    callback(handle_of(*event));
  if (event->is_released)
    events_.erase(event->id);
}

std::int32_t Queue::release(tgt_event_t event) {
  Known gone; // without the lock
  const std::lock_guard lock(mutex_);
  gone = find(event);
  if (!gone)
    return 1;
  gone->is_released = true;
  if (gone->is_done)
    events_.erase(gone->id);
  return 0;
}

bool Queue::is_live(tgt_event_t event, const Device& device) {
  const std::lock_guard lock(mutex_);
  const Known known = find(event);
  return known && &known->stream->device == &device;
}

std::int32_t Queue::result_of(const Event& event) const {
  if (event.failure.empty())
    return 0;
  fail(event.failure);
  return event.is_lost ? OMPTARGET_RTL_DEVICE_LOST : 1;
}

// Of one whose callback is on its way.
std::int32_t Queue::result_of(const Event& event, cl_int status) const {
  if (status > CL_COMPLETE)
    return OMPTARGET_RTL_PENDING;
  if (status == CL_COMPLETE)
    return 0;
  fail(failure_of(event.what.c_str(), status));
  return status == CL_DEVICE_NOT_AVAILABLE ? OMPTARGET_RTL_DEVICE_LOST : 1;
}

std::int32_t Queue::query(tgt_event_t event) {
  Known known; // goes without the lock
  const std::lock_guard lock(mutex_);
  known = find(event);
  if (!known)
    return 1;
  return known->is_done ? result_of(*known) : result_of(*known, status_of(cl_, known->event));
}

// Where the driver does not let anybody keep an event.
std::int32_t Queue::wait_by_looking(tgt_event_t event) {
  std::int32_t result = OMPTARGET_RTL_PENDING;
  while ((result = query(event)) == OMPTARGET_RTL_PENDING)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  return result;
}

std::int32_t Queue::wait(tgt_event_t event) {
  Known known;
  std::vector<cl_event> own;
  const Retained retained(cl_, own);
  {
    const std::lock_guard lock(mutex_);
    known = find(event);
    if (!known)
      return 1;
    if (known->is_done)
      return result_of(*known);
    if (cl_.clRetainEvent(known->event) == CL_SUCCESS)
      own.push_back(known->event);
  }
  if (own.empty())
    return wait_by_looking(event);
  const cl_int status = wait_for(cl_, own[0]);
  const std::lock_guard lock(mutex_);
  return known->is_done ? result_of(*known) : result_of(*known, status);
}

} // namespace omptool::opencl

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "common/calls.h"
#include "device.h"

#include <algorithm>
#include <utility>

namespace omptool::liboffload {
namespace {

class Unlocked {
public:
  explicit Unlocked(Queue::Lock& lock) : lock_(lock) { lock.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

private:
  Queue::Lock& lock_;
};

} // namespace

Stream::Stream(Device& its_device) : device(its_device), queue(its_device.take_queue()) {}

Stream::~Stream() {
  device.give_back(queue, !failure.empty());
}

// Collects the marks of the dependences. Returns false, with last_error set, if one is no event. A dependence that has
// succeeded needs no wait.
bool Queue::take_dependences(const Device& device, const plugin::Dependences& order, Operation& operation,
                             std::vector<std::shared_ptr<Mark>>& marks) {
  for (const tgt_event_t& dependence : order.before) {
    const OperationPtr known = dependence ? events_.find<Operation>(dependence) : nullptr;
    if (dependence && !known)
      return false;
    if (!known)
      continue;
    const bool is_first = &dependence == &order.before.front();
    if (is_first && &known->stream->device == &device)
      operation.stream = known->stream;
    if (known->is_done && !known->has_failed())
      continue;
    operation.before.push_back(known);
    if (known->mark && known->stream != operation.stream)
      marks.push_back(known->mark);
  }
  return true;
}

std::int32_t Queue::add(Device& device, const plugin::Dependences& order, std::string what, bool is_kernel,
                        const Enqueue& enqueue) {
  if (const std::int32_t lost = device.fault_if_lost())
    return lost;
  const auto operation = std::make_shared<Operation>();
  operation->what = std::move(what);
  operation->is_kernel = is_kernel;
  std::vector<std::shared_ptr<Mark>> marks;
  OperationPtr failed;
  {
    const Lock lock = events_.lock();
    if (!take_dependences(device, order, *operation, marks))
      return 1;
    for (const OperationPtr& one : operation->before)
      if (one->is_done)
        failed = one;
  }
  if (!operation->stream)
    operation->stream = std::make_shared<Stream>(device);
  std::string late_failure;
  const std::lock_guard turn(operation->stream->mutex); // it is known to the others in the order of the queue
  if (!failed)
    if (const std::int32_t result = enter(operation, marks, enqueue, late_failure)) {
      if (result == OMPTARGET_RTL_DEVICE_LOST)
        name_guilty(*operation->stream);
      return result;
    }
  Lock lock = events_.lock();
  order.made = operation->handle();
  events_.add(operation);
  going_.push_back(operation);
  if (failed)
    end(operation, failed->failure, failed->is_lost);
  else if (!operation->mark) // it has completed already
    end(operation, late_failure, false);
  release_lent(lock);
  return 0;
}

// Submits the operation. Returns 0 if it runs, or has completed, which it has if it needs no mark. Else last_error has
// the reason, and the operation does not run.
std::int32_t Queue::enter(const OperationPtr& operation, const std::vector<std::shared_ptr<Mark>>& marks,
                          const Enqueue& enqueue, std::string& late_failure) {
  const ol_queue queue = operation->stream->queue;
  std::vector<ol_event> events;
  for (const std::shared_ptr<Mark>& mark : marks)
    events.push_back(mark->event);
  if (!events.empty())
    if (const ol_result failed = library_.olWaitEvents(queue, events.data(), events.size()))
      return operation->stream->device.fail_of(operation->what, "olWaitEvents", failed);
  if (const std::int32_t result = enqueue(queue, operation->lent)) {
    const auto reason = last_error; // to release may fail, too
    operation->stream->device.release(std::exchange(operation->lent, nullptr), OMPTARGET_MEMORY_DEVICE);
    last_error = reason;
    return result;
  }
  ol_event event = nullptr;
  if (!library_.create_event(queue, &event)) {
    operation->mark = std::make_shared<Mark>(library_, event);
    return 0;
  }
  // Nobody can ask for it: it is waited for here.
  if (const ol_result failed = library_.olSyncQueue(queue))
    late_failure = operation->what + ": " + failure_of("olSyncQueue", failed);
  return 0;
}

// Names the kernel that the stream was running when a call found the device lost, because that kernel may be the cause.
// last_error gets the name.
void Queue::name_guilty(const Stream& stream) {
  const Lock lock = events_.lock();
  const auto guilty = std::find_if(going_.begin(), going_.end(), [&](const OperationPtr& one) {
    return one->is_kernel && one->stream.get() == &stream;
  });
  if (guilty != going_.end())
    fail((*guilty)->what + ", after which " + last_error.data());
}

void Queue::end(const OperationPtr& operation, const std::string& failure, bool is_lost) {
  if (operation->is_done)
    return;
  std::erase(going_, operation);
  operation->before.clear();
  if (void* const lent = std::exchange(operation->lent, nullptr))
    lent_.emplace_back(&operation->stream->device, lent);
  operation->mark = nullptr;
  operation->failure = failure;
  if (operation->stream->failure.empty())
    operation->stream->failure = failure;
  events_.end(*operation, is_lost);
}

// Ends the operations of a queue in which something has failed; the library does not report what. Blames the first
// failure that is known, else a kernel: kernels fail, copies hardly ever.
void Queue::fail_from(const OperationPtr& operation, const std::string& reason, bool is_lost) {
  std::vector<OperationPtr> all; // of the queue, as far as they are not done
  for (const OperationPtr& one : going_)
    if (one->stream == operation->stream)
      all.push_back(one);
  auto guilty = std::find_if(all.begin(), all.end(), [](const OperationPtr& one) { return one->is_kernel; });
  if (guilty == all.end())
    guilty = std::find(all.begin(), all.end(), operation);
  std::string failure = operation->stream->failure;
  if (failure.empty())
    failure = guilty == all.end() ? reason : (*guilty)->what + ": " + reason;
  for (auto one = all.begin(); one != all.end(); ++one)
    end(*one, one < guilty ? "" : failure, one >= guilty && is_lost);
}

// Operations that it depends on have ended before it, and may have failed.
void Queue::end_dependences(const OperationPtr& operation, Lock& lock) {
  const std::vector<OperationPtr> before = operation->before;
  for (const OperationPtr& one : before)
    if (!one->is_done)
      await(one, lock);
}

// Records how the operation ended, as the library reports it.
void Queue::take_in(const OperationPtr& operation, const char* call, ol_result failed, Lock& lock) {
  if (operation->is_done)
    return;
  if (failed) {
    const std::string reason = failure_of(call, failed);
    bool is_lost = false;
    {
      const Unlocked unlocked(lock);
      { // an operation that enters the queue at this moment may be the guilty one
        const std::lock_guard turn(operation->stream->mutex);
      }
      is_lost = operation->stream->device.is_lost_by(reason);
    }
    return fail_from(operation, reason, is_lost);
  }
  end_dependences(operation, lock);
  const auto guilty = std::find_if(operation->before.begin(), operation->before.end(),
                                   [](const OperationPtr& one) { return one->has_failed(); });
  const OperationPtr first = guilty == operation->before.end() ? nullptr : *guilty;
  end(operation, first ? first->failure : "", first && first->is_lost);
}

void Queue::await(const OperationPtr& operation, Lock& lock) {
  while (!operation->is_done) {
    const std::shared_ptr<Mark> mark = operation->mark;
    ol_result failed = nullptr;
    {
      const Unlocked unlocked(lock);
      failed = library_.olSyncEvent(mark->event);
    }
    take_in(operation, "olSyncEvent", failed, lock);
  }
  release_lent(lock);
}

void Queue::look_at(const OperationPtr& operation, Lock& lock) {
  if (operation->is_done)
    return;
  const std::shared_ptr<Mark> mark = operation->mark;
  bool is_complete = false;
  ol_result failed = nullptr;
  {
    const Unlocked unlocked(lock);
    failed = library_.olGetEventInfo(mark->event, OL_EVENT_IS_COMPLETE, sizeof is_complete, &is_complete);
  }
  if (failed || is_complete)
    take_in(operation, "olGetEventInfo", failed, lock);
  release_lent(lock);
}

// Looks at the first operation of each queue, and at the next as long as they have completed.
bool Queue::process() {
  std::vector<OperationPtr> all; // they, and queues with them, are released without the lock
  std::vector<const Stream*> waiting;
  Lock lock = events_.lock();
  all = going_;
  for (const OperationPtr& one : all) {
    const Stream* const stream = one->stream.get();
    if (std::find(waiting.begin(), waiting.end(), stream) != waiting.end())
      continue;
    look_at(one, lock);
    if (!one->is_done)
      waiting.push_back(stream);
  }
  return !going_.empty();
}

void Queue::release_lent(Lock& lock) {
  while (!lent_.empty()) {
    const auto [device, memory] = lent_.back();
    lent_.pop_back();
    const Unlocked unlocked(lock);
    device->release(memory, OMPTARGET_MEMORY_DEVICE); // what cannot be released is lost
  }
}

} // namespace omptool::liboffload

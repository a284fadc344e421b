// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts operations into streams. queue_progress.cpp has how they end.
#include "queue.h"

#include "common/calls.h"
#include "unlocked.h"

#include <algorithm>

namespace omptool::cuda {

// False, and fail(): one of them is no event. A dependence that has completed well needs no waiting for.
bool Queue::take_dependences(Device& device, const plugin::Dependences& order, Operation& operation) const {
  for (const tgt_event_t& dependence : order.before) {
    const OperationPtr known = dependence ? events_.find<Operation>(dependence) : nullptr;
    if (dependence && !known)
      return false;
    if (known && &dependence == &order.before.front() && &known->chain->device == &device)
      operation.chain = known->chain;
    if (known && !(known->is_done && known->failure.empty()))
      operation.before.push_back(known);
  }
  if (!operation.chain)
    operation.chain = std::make_shared<Chain>(device);
  return true;
}

bool Queue::must_be_kept(const Operation& operation) {
  const Chain& chain = *operation.chain;
  return chain.user == Chain::User::kLong || !chain.kept.empty() || would_wait(operation);
}

// To hand it over would, for what was asked for before it. Copies to the device end by themselves.
bool Queue::would_wait(const Operation& operation) {
  const Chain& chain = *operation.chain;
  const auto is_kept = [](const OperationPtr& one) { return one->is_kept(); };
  if (!operation.is_long)
    return std::any_of(operation.before.begin(), operation.before.end(), is_kept);
  const bool only_copies = operation.only_reads && !chain.has_begun;
  const auto goes_on = [&](const OperationPtr& one) {
    return !one->is_done && !(only_copies && one->chain == operation.chain && !is_kept(one));
  };
  return (!only_copies && !chain.going.empty()) ||
         std::any_of(operation.before.begin(), operation.before.end(), goes_on);
}

std::int32_t Queue::add(Device& device, const plugin::Dependences& order, const OperationPtr& operation) {
  Lock lock = events_.lock();
  if (!take_dependences(device, order, *operation))
    return 1;
  Chain& chain = *operation->chain;
  MarkPtrs marks;
  if (!must_be_kept(*operation))
    if (const std::int32_t failure = marks_before(*operation, marks, lock))
      return failure;
  changed_.wait(lock, [&] { return chain.user != Chain::User::kBrief; });
  if (must_be_kept(*operation)) {
    chain.kept.push_back(operation);
    note_busy(operation->chain);
  } else {
    const Turn turn(chain, operation->is_long ? Chain::User::kLong : Chain::User::kBrief, changed_);
    if (const std::int32_t failure = give(operation, marks, lock))
      return failure;
  }
  events_.add(operation);
  order.made = operation->handle();
  return 0;
}

// Collects the waits for other streams: the operation's own stream does not order these.
std::int32_t Queue::marks_before(const Operation& operation, MarkPtrs& marks, Lock& lock) {
  const std::vector<OperationPtr> before = operation.before;
  for (const OperationPtr& one : before) {
    if (one->chain == operation.chain || !one->is_given())
      continue;
    std::int32_t failure = 0;
    if (MarkPtr mark = mark_of(*one, failure, lock))
      marks.push_back(std::move(mark));
    if (failure)
      return failure;
  }
  return 0;
}

// Of an operation that is given; null, too, when it has ended meanwhile. An operation without a mark gets one behind
// the last of its chain, so that the waiter waits for more than it asked for.
MarkPtr Queue::mark_of(Operation& operation, std::int32_t& failure, Lock& lock) {
  const std::shared_ptr<Chain> chain = operation.chain;
  changed_.wait(lock, [&] {
    return chain->user == Chain::User::kNone || (!chain->gather && chain->user != Chain::User::kBrief);
  });
  settle(chain, lock);
  if (operation.is_done)
    return nullptr;
  auto at = std::find_if(chain->going.begin(), chain->going.end(),
                         [&](const OperationPtr& one) { return one.get() == &operation; });
  at = std::find_if(at, std::prev(chain->going.end()), [](const OperationPtr& one) { return one->mark != nullptr; });
  const OperationPtr last = *at;
  if (last->mark)
    return last->mark;
  MarkPtr made;
  {
    const bool is_free = chain->user == Chain::User::kNone;
    const Turn turn(*chain, is_free ? Chain::User::kBrief : chain->user, changed_, is_free);
    const Unlocked unlocked(lock);
    made = chain->device.marks().record(chain->stream, failure);
  }
  if (!last->is_done)
    last->mark = made;
  return made;
}

OperationPtr Queue::failed_before(const Operation& operation) {
  const auto at = std::find_if(operation.before.begin(), operation.before.end(),
                               [](const OperationPtr& one) { return one->has_failed(); });
  return at == operation.before.end() ? nullptr : *at;
}

// Gives it to the driver, in its chain's turn. A failure is one of the call; what depends on a failure has failed.
std::int32_t Queue::give(const OperationPtr& operation, const MarkPtrs& marks, Lock& lock) {
  Chain& chain = *operation->chain;
  if (const OperationPtr one = failed_before(*operation)) {
    end(*operation, one->failure, one->is_lost);
    return 0;
  }
  const bool does_something = operation->work || !marks.empty();
  if (!does_something && chain.going.empty()) {
    end(*operation, {}, false);
    return 0;
  }
  std::int32_t failure = 0;
  if (!may_gather(*operation, marks) || !gather(operation, failure, lock)) {
    if (does_something && !failure)
      failure = send_gathered(chain, lock);
    if (does_something && !failure) {
      const Unlocked unlocked(lock);
      failure = hand_over(*operation, marks);
    }
  }
  if (failure)
    return failure;
  chain.has_begun = chain.has_begun || !marks.empty() || (operation->work && !operation->only_reads);
  operation->work = nullptr;
  operation->state = Operation::State::kGiven;
  chain.going.push_back(operation);
  note_busy(operation->chain);
  return 0;
}

std::int32_t Queue::wait_in_stream(Chain& chain, const MarkPtrs& marks, const Operation& operation) {
  const Context& context = chain.device.context();
  std::int32_t failure = 0;
  if (!chain.stream)
    chain.stream = chain.device.streams().take(failure);
  for (const MarkPtr& mark : marks)
    if (!failure) {
      const Outcome outcome = context.in_stream(
          [&] { return OMPTOOL_CUDA(context.driver, cuStreamWaitEvent, chain.stream, mark->event, 0); });
      failure = outcome.ok() ? 0 : fail_of(context.driver, outcome, name_of(operation));
    }
  return failure;
}

std::int32_t Queue::hand_over(Operation& operation, const MarkPtrs& marks) {
  const std::int32_t failure = wait_in_stream(*operation.chain, marks, operation);
  return failure || !operation.work ? failure : operation.work(operation.chain->stream, operation.lent);
}

} // namespace omptool::cuda

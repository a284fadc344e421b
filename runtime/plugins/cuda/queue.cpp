// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "unlocked.h"

#include <memory>

namespace omptool::cuda {

// Finds the operation's chain and the events that it waits for, without those that have succeeded. Returns false, with
// last_error set, if one of the dependences is no event.
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

std::int32_t Queue::add(Device& device, const plugin::Dependences& order, const OperationPtr& operation) {
  Lock lock = events_.lock();
  if (!take_dependences(device, order, *operation))
    return 1;
  Chain& chain = *operation->chain;
  MarkPtrs marks;
  if (!Submission::must_be_kept(*operation))
    if (const std::int32_t failure = submission_.marks_before(*operation, marks, lock))
      return failure;
  completion_.changed().wait(lock, [&] { return chain.user != Chain::User::kBrief; });
  if (Submission::must_be_kept(*operation)) {
    chain.kept.push_back(operation);
    completion_.note_busy(operation->chain);
  } else {
    const Turn turn(chain, operation->is_long ? Chain::User::kLong : Chain::User::kBrief, completion_.changed());
    if (const std::int32_t failure = submission_.submit(operation, marks, lock))
      return failure;
  }
  events_.add(operation);
  order.made = operation->handle();
  return 0;
}

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "submission.h"

#include "unlocked.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace omptool::cuda {

// Returns whether a call of the driver would wait for operations before this one. Copies to the device end by
// themselves.
bool Submission::would_wait(const Operation& operation) {
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

bool Submission::must_be_kept(const Operation& operation) {
  const Chain& chain = *operation.chain;
  return chain.user == Chain::User::kLong || !chain.kept.empty() || would_wait(operation);
}

// Collects the waits for other streams: the operation's own stream does not order these.
std::int32_t Submission::marks_before(const Operation& operation, MarkPtrs& marks, Lock& lock) {
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

// Returns the mark of a submitted operation, or null if the operation has ended meanwhile. An operation without a mark
// gets one behind the last of its chain: the waiter then waits for more operations than it has to.
MarkPtr Submission::mark_of(Operation& operation, std::int32_t& failure, Lock& lock) {
  const std::shared_ptr<Chain> chain = operation.chain;
  completion_.changed().wait(lock, [&] {
    return chain->user == Chain::User::kNone || (!chain->gather && chain->user != Chain::User::kBrief);
  });
  small_copies_.send_if_free(chain, lock);
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
    const Turn turn(*chain, is_free ? Chain::User::kBrief : chain->user, completion_.changed(), is_free);
    const Unlocked unlocked(lock);
    made = chain->device.marks().record(chain->stream, failure);
  }
  if (!last->is_done)
    last->mark = made;
  return made;
}

OperationPtr Submission::failed_before(const Operation& operation) {
  const auto at = std::find_if(operation.before.begin(), operation.before.end(),
                               [](const OperationPtr& one) { return one->has_failed(); });
  return at == operation.before.end() ? nullptr : *at;
}

// Submits the operation to the driver, in its chain's turn. Returns a failure of the call; an operation that depends on
// a failed one ends with that failure, and 0 is returned.
std::int32_t Submission::submit(const OperationPtr& operation, const MarkPtrs& marks, Lock& lock) {
  Chain& chain = *operation->chain;
  if (const OperationPtr one = failed_before(*operation)) {
    completion_.end(*operation, one->failure, one->is_lost);
    return 0;
  }
  const bool does_something = operation->work || !marks.empty();
  if (!does_something && chain.going.empty()) {
    completion_.end(*operation, {}, false);
    return 0;
  }
  std::int32_t failure = 0;
  if (!SmallCopies::may_gather(*operation, marks) || !small_copies_.add(operation, failure, lock)) {
    if (does_something && !failure)
      failure = small_copies_.send(chain, lock);
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
  completion_.note_busy(operation->chain);
  return 0;
}

std::int32_t Submission::hand_over(Operation& operation, const MarkPtrs& marks) {
  const std::int32_t failure = operation.chain->wait_for(marks, operation);
  return failure || !operation.work ? failure : operation.work(operation.chain->stream, operation.lent);
}

} // namespace omptool::cuda

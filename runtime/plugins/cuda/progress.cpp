// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.h"

#include "common/calls.h"
#include "unlocked.h"

#include <algorithm>

namespace omptool::cuda {

bool Progress::can_go(const Chain& chain) {
  return chain.user == Chain::User::kNone && !chain.kept.empty() && !Submission::would_wait(*chain.kept.front());
}

// Submits the first operation that is kept back, and copies that go with it. May wait for the operations before it.
void Progress::submit_kept(const std::shared_ptr<Chain>& chain, Lock& lock) {
  const Turn turn(*chain, Chain::User::kLong, completion_.changed());
  small_copies_.send(*chain, lock); // others may wait for that, and these for others
  const OperationPtr first = chain->kept.front();
  MarkPtrs marks;
  std::int32_t failure = submission_.marks_before(*first, marks, lock);
  if (!failure && first->small == Operation::Small::kOut && !Submission::failed_before(*first))
    return small_copies_.fetch(chain, marks, lock);
  chain->kept.pop_front();
  if (!failure)
    failure = submission_.submit(first, marks, lock);
  if (failure == OMPTARGET_RTL_DEVICE_LOST)
    completion_.find_guilty(chain, lock);
  if (failure)
    completion_.end(*first, last_error.data(), failure == OMPTARGET_RTL_DEVICE_LOST);
  completion_.note_idle(*chain);
}

// Takes one step that brings the submission of the operation nearer.
void Progress::push(const OperationPtr& operation, Lock& lock) {
  const std::shared_ptr<Chain> chain = operation->chain;
  if (chain->user != Chain::User::kNone) {
    completion_.changed().wait(lock);
    return;
  }
  const std::vector<OperationPtr> before = chain->kept.front()->before;
  for (const OperationPtr& one : before)
    if (one->is_kept())
      return push(one, lock);
  submit_kept(chain, lock);
}

void Progress::await_in_chain(const OperationPtr& operation, Lock& lock) {
  const std::shared_ptr<Chain> chain = operation->chain;
  const Context& context = chain->device.context();
  while (!operation->is_done) {
    if (operation->is_kept()) {
      push(operation, lock);
      continue;
    }
    if (!small_copies_.send_if_free(chain, lock)) {
      completion_.changed().wait(lock);
      continue;
    }
    if (operation->is_done)
      continue;
    const MarkPtr mark = operation->mark;
    const OperationPtr last = mark ? operation : chain->going.back();
    Outcome outcome{nullptr, CUDA_SUCCESS};
    {
      const Unlocked unlocked(lock);
      outcome = context.in_stream([&] {
        return mark ? OMPTOOL_CUDA(context.driver, cuEventSynchronize, mark->event)
                    : OMPTOOL_CUDA(context.driver, cuStreamSynchronize, chain->stream);
      });
    }
    completion_.end_until(chain, last, outcome);
  }
}

void Progress::await(const OperationPtr& operation, Lock& lock) {
  small_copies_.send_all(lock);
  await_in_chain(operation, lock);
  completion_.release_lent(lock);
}

// Polls the stream once for the whole chain, and once for its first part that other chains wait for.
void Progress::look_at_chain(const std::shared_ptr<Chain>& chain, Lock& lock) {
  const Context& context = chain->device.context();
  if (small_copies_.send_if_free(chain, lock) && !chain->going.empty()) {
    OperationPtr last = chain->going.back();
    const auto marked =
        std::find_if(chain->going.begin(), chain->going.end(), [](const OperationPtr& one) { return one->mark; });
    const OperationPtr part = marked == chain->going.end() || *marked == last ? nullptr : *marked;
    const MarkPtr mark = part ? part->mark : nullptr;
    Outcome outcome{nullptr, CUDA_SUCCESS};
    {
      const Unlocked unlocked(lock);
      outcome = context.in_stream([&] { return OMPTOOL_CUDA(context.driver, cuStreamQuery, chain->stream); });
      if (outcome.result == CUDA_ERROR_NOT_READY && part) {
        last = part;
        outcome = OMPTOOL_CUDA(context.driver, cuEventQuery, mark->event);
      }
      if (!outcome.ok() && outcome.result != CUDA_ERROR_NOT_READY) // nothing of it runs any more
        context.driver.cuStreamSynchronize(chain->stream);
    }
    if (outcome.result != CUDA_ERROR_NOT_READY)
      completion_.end_until(chain, last, outcome);
  }
  while (can_go(*chain))
    submit_kept(chain, lock);
  small_copies_.send_if_free(chain, lock);
}

void Progress::look_at_all(Lock& lock) {
  const std::vector<std::shared_ptr<Chain>> all = completion_.busy();
  for (const std::shared_ptr<Chain>& chain : all)
    look_at_chain(chain, lock);
}

void Progress::look_at(const OperationPtr& operation, Lock& lock) {
  small_copies_.send_all(lock);
  if (operation->is_given())
    look_at_chain(operation->chain, lock);
  else if (!operation->is_done)
    look_at_all(lock);
  completion_.release_lent(lock);
}

bool Progress::process() {
  Lock lock = completion_.events().lock();
  look_at_all(lock);
  completion_.release_lent(lock);
  return !completion_.busy().empty();
}

} // namespace omptool::cuda

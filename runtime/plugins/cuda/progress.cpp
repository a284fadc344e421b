// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends operations, and goes on with those that are kept.
#include "common/calls.h"
#include "queue.h"
#include "unlocked.h"

#include <algorithm>

namespace omptool::cuda {

bool Queue::can_go(const Chain& chain) {
  return chain.user == Chain::User::kNone && !chain.kept.empty() && !would_wait(*chain.kept.front());
}

void Queue::note_busy(const std::shared_ptr<Chain>& chain) {
  if (!std::exchange(chain->is_noted, true))
    busy_.push_back(chain);
}

void Queue::note_idle(Chain& chain) {
  chain.has_begun = chain.has_begun && !chain.going.empty();
  if (chain.going.empty() && chain.kept.empty() && std::exchange(chain.is_noted, false))
    std::erase_if(busy_, [&](const std::shared_ptr<Chain>& one) { return one.get() == &chain; });
}

void Queue::end(Operation& operation, std::string failure, bool is_lost) {
  const std::vector<OperationPtr> before = std::exchange(operation.before, {});
  for (const OperationPtr& one : before) {
    if (failure.empty()) // what it has waited for in other streams has ended, and nobody need ask
      end_until(one->chain, one, {nullptr, CUDA_SUCCESS});
    if (failure.empty() && !one->failure.empty()) {
      failure = one->failure;
      is_lost = one->is_lost;
    }
  }
  operation.work = nullptr;
  operation.mark = nullptr;
  operation.gather = nullptr;
  if (const CUdeviceptr lent = std::exchange(operation.lent, 0))
    lent_.emplace_back(&operation.chain->device, lent);
  operation.failure = std::move(failure);
  events_.end(operation, is_lost);
}

// The driver says that something has failed, and not what: copies do not, once they are queued, but kernels do.
void Queue::end_until(const std::shared_ptr<Chain>& chain, const OperationPtr& last, Outcome outcome) {
  if (last->is_done)
    return;
  std::string failure;
  const bool is_lost = omptool::cuda::is_lost(outcome.result);
  auto guilty = chain->going.end();
  if (!outcome.ok()) {
    guilty =
        std::find_if(chain->going.begin(), chain->going.end(), [](const OperationPtr& one) { return one->kernel; });
    if (guilty == chain->going.end())
      guilty = chain->going.begin();
    failure = name_of(**guilty) + ": " + text_of(chain->device.context().driver, outcome);
    chain->is_broken = true;
  }
  const OperationPtr first_failed = guilty == chain->going.end() ? nullptr : *guilty;
  bool has_failed = false;
  for (bool is_over = false; !is_over && !chain->going.empty();) {
    const OperationPtr one = chain->going.front();
    chain->going.pop_front();
    has_failed = has_failed || one == first_failed;
    end(*one, has_failed ? failure : std::string(), has_failed && is_lost);
    is_over = outcome.ok() && one == last;
  }
  note_idle(*chain);
}

// The first that is kept, which may wait for what is before it; and what goes with it.
void Queue::give_kept(const std::shared_ptr<Chain>& chain, Lock& lock) {
  const Turn turn(*chain, Chain::User::kLong, changed_);
  send_gathered(*chain, lock); // others may wait for that, and these for others
  const OperationPtr first = chain->kept.front();
  MarkPtrs marks;
  std::int32_t failure = marks_before(*first, marks, lock);
  if (!failure && first->small == Operation::Small::kOut && !failed_before(*first))
    return fetch_together(chain, marks, lock);
  chain->kept.pop_front();
  if (!failure)
    failure = give(first, marks, lock);
  if (failure == OMPTARGET_RTL_DEVICE_LOST)
    find_guilty(chain, lock);
  if (failure)
    end(*first, last_error.data(), failure == OMPTARGET_RTL_DEVICE_LOST);
  note_idle(*chain);
}

// In the chain's turn: a call has found the device lost, which a kernel before it may have done. last_error names that.
void Queue::find_guilty(const std::shared_ptr<Chain>& chain, Lock& lock) {
  if (chain->going.empty())
    return;
  const OperationPtr last = chain->going.back();
  const Context& context = chain->device.context();
  Outcome outcome{nullptr, CUDA_SUCCESS};
  {
    const Unlocked unlocked(lock);
    outcome = context.in_stream([&] { return OMPTOOL_CUDA(context.driver, cuStreamSynchronize, chain->stream); });
  }
  end_until(chain, last, outcome);
  if (!last->failure.empty())
    fail(last->failure);
}

// A step towards an operation's being given.
void Queue::push(const OperationPtr& operation, Lock& lock) {
  const std::shared_ptr<Chain> chain = operation->chain;
  if (chain->user != Chain::User::kNone) {
    changed_.wait(lock);
    return;
  }
  const std::vector<OperationPtr> before = chain->kept.front()->before;
  for (const OperationPtr& one : before)
    if (one->is_kept())
      return push(one, lock);
  give_kept(chain, lock);
}

void Queue::await_in_chain(const OperationPtr& operation, Lock& lock) {
  const std::shared_ptr<Chain> chain = operation->chain;
  const Context& context = chain->device.context();
  while (!operation->is_done) {
    if (operation->is_kept()) {
      push(operation, lock);
      continue;
    }
    if (!settle(chain, lock)) {
      changed_.wait(lock);
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
    end_until(chain, last, outcome);
  }
}

void Queue::await(const OperationPtr& operation, Lock& lock) {
  settle_all(lock);
  await_in_chain(operation, lock);
  give_back_lent(lock);
}

// One question for all of a chain; a second for its part that others wait for.
void Queue::look_at_chain(const std::shared_ptr<Chain>& chain, Lock& lock) {
  const Context& context = chain->device.context();
  if (settle(chain, lock) && !chain->going.empty()) {
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
      end_until(chain, last, outcome);
  }
  while (can_go(*chain))
    give_kept(chain, lock);
  settle(chain, lock);
}

void Queue::look_at_all(Lock& lock) {
  const std::vector<std::shared_ptr<Chain>> all = busy_;
  for (const std::shared_ptr<Chain>& chain : all)
    look_at_chain(chain, lock);
}

void Queue::look_at(const OperationPtr& operation, Lock& lock) {
  settle_all(lock);
  if (operation->is_given())
    look_at_chain(operation->chain, lock);
  else if (!operation->is_done)
    look_at_all(lock);
  give_back_lent(lock);
}

bool Queue::process() {
  Lock lock = events_.lock();
  look_at_all(lock);
  give_back_lent(lock);
  return !busy_.empty();
}

void Queue::give_back_lent(Lock& lock) {
  while (!lent_.empty()) {
    const auto [device, memory] = lent_.back();
    lent_.pop_back();
    const Unlocked unlocked(lock);
    device->memory().release(memory); // what it cannot release is lost
  }
}

} // namespace omptool::cuda

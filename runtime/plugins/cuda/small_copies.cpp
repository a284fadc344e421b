// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "small_copies.h"

#include "common/calls.h"
#include "unlocked.h"

#include <algorithm>
#include <iterator>

namespace omptool::cuda {

// Returns whether the host's bytes can be read now: no operation before this one writes them.
bool SmallCopies::may_gather(const Operation& operation, const MarkPtrs& marks) {
  return operation.small == Operation::Small::kIn && !operation.chain->has_begun && marks.empty();
}

// Adds a copy to those that the chain gathers, in the chain's turn. Returns false if it has to be submitted alone, or
// if copies gathered before have failed.
bool SmallCopies::add(const OperationPtr& operation, std::int32_t& failure, Lock& lock) {
  Chain& chain = *operation->chain;
  bool is_added = false;
  if (chain.gather) {
    const Unlocked unlocked(lock);
    is_added = chain.gather->add(operation->piece);
  }
  if (!is_added) {
    failure = send(chain, lock);
    if (failure || !chain.device.memory().is_in_one_slab(operation->piece.device, operation->piece.size))
      return false;
    chain.gather = std::make_shared<Gather>(chain.device, operation->piece);
    ++gathers_;
  }
  operation->gather = chain.gather;
  return true;
}

// Sends the gathered copies to the driver, in the chain's turn. A failure ends the operations, too.
std::int32_t SmallCopies::send(Chain& chain, Lock& lock) {
  if (!chain.gather)
    return 0;
  const auto first = std::find_if(chain.going.begin(), chain.going.end(),
                                  [&](const OperationPtr& one) { return one->gather == chain.gather; });
  const std::string name = first == chain.going.end() ? "copies to the GPU" : name_of(**first);
  std::int32_t failure = 0;
  {
    const Unlocked unlocked(lock);
    if (!chain.stream)
      chain.stream = chain.device.streams().take(failure);
    if (!failure)
      if (const Outcome outcome = chain.gather->send(chain.stream); !outcome.ok())
        failure = fail_of(chain.device.context().driver, outcome, name);
  }
  if (failure)
    fail_all(chain, failure);
  chain.gather = nullptr;
  --gathers_;
  return failure;
}

// Ends the gathered operations; those before them in the chain go on.
void SmallCopies::fail_all(Chain& chain, std::int32_t failure) {
  const auto why = last_error;
  OperationPtrs all;
  std::copy_if(chain.going.begin(), chain.going.end(), std::back_inserter(all),
               [&](const OperationPtr& one) { return one->gather == chain.gather; });
  std::erase_if(chain.going, [&](const OperationPtr& one) { return one->gather == chain.gather; });
  for (const OperationPtr& one : all)
    completion_.end(*one, why.data(), failure == OMPTARGET_RTL_DEVICE_LOST);
  completion_.note_idle(chain);
  last_error = why;
}

// Sends the gathered copies. Returns false if another thread uses the chain: then nothing is sent.
bool SmallCopies::send_if_free(const std::shared_ptr<Chain>& chain, Lock& lock) {
  if (!chain->gather)
    return true;
  if (chain->user != Chain::User::kNone)
    return false;
  const Turn turn(*chain, Chain::User::kBrief, completion_.changed());
  send(*chain, lock);
  return true;
}

// Sends the gathered copies of all chains: a running kernel may wait for them.
void SmallCopies::send_all(Lock& lock) {
  if (gathers_ == 0)
    return;
  const std::vector<std::shared_ptr<Chain>> all = completion_.busy();
  for (const std::shared_ptr<Chain>& chain : all)
    send_if_free(chain, lock);
}

bool SmallCopies::may_join(const Operation& operation, const OperationPtrs& together) {
  return operation.small == Operation::Small::kOut &&
         std::all_of(operation.before.begin(), operation.before.end(), [&](const OperationPtr& one) {
           return one->is_done
                      ? one->failure.empty()
                      : one->chain == operation.chain &&
                            (one->is_given() || std::find(together.begin(), together.end(), one) != together.end());
         });
}

// Fetches the first copy that is kept back, and those behind it that are its neighbours, in the chain's turn. They have
// ended when this returns.
void SmallCopies::fetch(const std::shared_ptr<Chain>& chain, const MarkPtrs& marks, Lock& lock) {
  OperationPtrs together{chain->kept.front()};
  Scatter scatter(chain->device, together.front()->piece);
  chain->kept.pop_front();
  while (!chain->kept.empty() && may_join(*chain->kept.front(), together) && scatter.add(chain->kept.front()->piece)) {
    together.push_back(chain->kept.front());
    chain->kept.pop_front();
  }
  const OperationPtr last = chain->going.empty() ? nullptr : chain->going.back();
  std::int32_t failure = 0;
  Outcome outcome{nullptr, CUDA_SUCCESS};
  bool is_queued = false;
  {
    const Unlocked unlocked(lock);
    const Driver& driver = chain->device.context().driver;
    failure = chain->wait_for(marks, *together.front());
    if (!failure)
      outcome = scatter.fetch(chain->stream);
    is_queued = !failure && outcome.ok();
    if (is_queued)
      outcome = OMPTOOL_CUDA(driver, cuStreamSynchronize, chain->stream);
    if (!outcome.ok())
      failure = fail_of(driver, outcome, name_of(*together.front()));
    for (const OperationPtr& one : together)
      if (!failure)
        scatter.land(one->piece);
  }
  std::string why = failure ? last_error.data() : "";
  if (is_queued && failure)
    chain->is_broken = true;
  if (is_queued && last) {
    completion_.end_until(chain, last, outcome);
    why = last->failure.empty() ? why : last->failure; // that of the kernel which was the cause
  } else if (failure == OMPTARGET_RTL_DEVICE_LOST) {
    completion_.find_guilty(chain, lock);
    why = last_error.data();
  }
  for (const OperationPtr& one : together)
    completion_.end(*one, why, failure == OMPTARGET_RTL_DEVICE_LOST);
}

} // namespace omptool::cuda

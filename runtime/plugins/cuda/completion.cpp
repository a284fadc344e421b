// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "completion.h"

#include "common/calls.h"
#include "unlocked.h"

#include <algorithm>
#include <utility>

namespace omptool::cuda {

void Completion::note_busy(const std::shared_ptr<Chain>& chain) {
  if (!std::exchange(chain->is_noted, true))
    busy_.push_back(chain);
}

void Completion::note_idle(Chain& chain) {
  chain.has_begun = chain.has_begun && !chain.going.empty();
  if (chain.going.empty() && chain.kept.empty() && std::exchange(chain.is_noted, false))
    std::erase_if(busy_, [&](const std::shared_ptr<Chain>& one) { return one.get() == &chain; });
}

void Completion::end(Operation& operation, std::string failure, bool is_lost) {
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

// Ends the operations up to `last`. The driver reports a failure without its operation. Queued copies do not fail, so
// the first kernel is named.
void Completion::end_until(const std::shared_ptr<Chain>& chain, const OperationPtr& last, Outcome outcome) {
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

// Finds the kernel that lost the device, after a call has found it lost, and names it in last_error. Called in the
// chain's turn.
void Completion::find_guilty(const std::shared_ptr<Chain>& chain, Lock& lock) {
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

void Completion::release_lent(Lock& lock) {
  while (!lent_.empty()) {
    const auto [device, memory] = lent_.back();
    lent_.pop_back();
    const Unlocked unlocked(lock);
    device->memory().release(memory); // what it cannot release is lost
  }
}

} // namespace omptool::cuda

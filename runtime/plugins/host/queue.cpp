// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "common/calls.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace omptool::host {
namespace {

using State = Operation::State;

} // namespace

void Queue::let_wait(Operation& operation, Operation& before, bool needs_success) {
  if (!before.is_done) {
    before.dependents.push_back({&operation, needs_success});
    operation.before.push_back(&before);
  } else if (before.has_failed() && needs_success) {
    operation.failure = before.failure;
  }
}

std::int32_t Queue::add(const plugin::Dependences& order, Body body) {
  Lock lock = events_.lock();
  std::vector<std::shared_ptr<Operation>> before;
  for (const tgt_event_t dependence : order.before)
    if (dependence && !before.emplace_back(events_.find<Operation>(dependence)))
      return 1;
  const auto operation = std::make_shared<Operation>();
  operation->body = std::move(body);
  const bool joins_stream = !order.before.empty() && order.before[0];
  operation->stream = joins_stream ? before[0]->stream : std::make_shared<Stream>();
  events_.add(operation);
  if (Operation* const last = operation->stream->last)
    let_wait(*operation, *last, false);
  for (const std::shared_ptr<Operation>& one : before)
    let_wait(*operation, *one, true);
  operation->stream->last = operation.get();
  order.made = operation->handle();
  Ready ready;
  if (operation->before.empty())
    proceed(*operation, ready);
  hand_out(ready, nullptr, lock);
  return 0;
}

// Proceeds after `first`, which waits for nothing any more or has run. Appends the operations that have become ready.
void Queue::proceed(Operation& first, Ready& ready) {
  std::vector<Operation*> free{&first};
  while (!free.empty()) {
    Operation& operation = *free.back();
    free.pop_back();
    if (operation.state == State::kRunning || !operation.failure.empty() || !operation.body) {
      complete(operation, free);
    } else {
      operation.state = State::kReady;
      ready.push_back(&operation);
    }
  }
}

// Adds what waited for nothing else.
void Queue::complete(Operation& operation, std::vector<Operation*>& free) {
  if (operation.stream->last == &operation)
    operation.stream->last = nullptr;
  for (const auto [dependent, needs_success] : operation.dependents) {
    if (needs_success && !operation.failure.empty())
      dependent->failure = operation.failure;
    dependent->before.erase(std::find(dependent->before.begin(), dependent->before.end(), &operation));
    if (dependent->before.empty())
      free.push_back(dependent);
  }
  operation.dependents.clear();
  for (Waiter* waiter = operation.waiters; waiter; waiter = waiter->next)
    waiter->woken.notify_one(); // with the lock held: it lies on the other thread's stack
  events_.end(operation, false);
}

void Queue::await(Operation& operation, Lock& lock) {
  Operation* next = ready_before(operation);
  while (next) {
    Ready ready;
    run(*next, lock, ready);
    next = ready_before(operation);
    hand_out(ready, next, lock);
  }
  if (operation.is_done) // hand_out() may have let others in
    return;
  Waiter waiter;
  waiter.next = std::exchange(operation.waiters, &waiter);
  waiter.woken.wait(lock, [&] { return operation.is_done; });
}

// Returns the operation that this one waits for first, if no thread has begun it yet, or null. Of many dependences it
// follows the first: this is for the chain that a caller has just queued and now waits for. Others are left to the
// workers.
Operation* Queue::ready_before(Operation& operation) {
  constexpr int kMostSteps = 64;
  if (operation.is_done)
    return nullptr;
  Operation* at = &operation;
  for (int step = 0; step < kMostSteps && at->state == State::kWaiting; ++step)
    at = at->before.front();
  return at->state == State::kReady ? at : nullptr;
}

// Adds what can run thereafter.
void Queue::run(Operation& operation, Lock& lock, Ready& ready) {
  operation.state = State::kRunning;
  {
    const Body body = std::move(operation.body);
    lock.unlock();
    const std::int32_t result = safely(1, body);
    lock.lock();
    if (result != 0)
      operation.failure = last_error.data();
  }
  proceed(operation, ready);
}

// Runs the operation, and then those that it makes ready: this thread runs them, so no other has to be woken.
void Queue::run_on_worker(Operation& operation) {
  Lock lock = events_.lock();
  if (operation.is_done || operation.state != State::kReady)
    return; // a thread that waits has it, or had it
  Operation* next = &operation;
  while (next) {
    Ready ready;
    run(*next, lock, ready);
    next = ready.empty() ? nullptr : ready.front();
    hand_out(ready, next, lock);
  }
}

// Hands all operations but `except` to workers. The caller runs that one; no other thread begins it while the caller
// has released the lock.
void Queue::hand_out(const Ready& ready, Operation* except, Lock& lock) {
  std::vector<std::shared_ptr<Operation>> others;
  for (Operation* const operation : ready)
    if (operation != except)
      others.push_back(operation->shared_from_this());
  if (others.empty())
    return;
  if (except)
    except->state = State::kRunning;
  lock.unlock();
  for (const std::shared_ptr<Operation>& operation : others)
    workers_.run([this, operation] { run_on_worker(*operation); });
  lock.lock();
}

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.h"

#include "common/calls.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace omptool::host {
namespace {

using State = Event::State;

// Events have numbers, so that one that is released is never taken for a later one.
tgt_event_t handle_of(const Event& event) {
  return reinterpret_cast<tgt_event_t>(event.id);
}
std::uintptr_t id_of(tgt_event_t handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

void take_failure(Event& event, const Event& before) {
  event.failed = true;
  event.failure = before.failure;
}

std::int32_t result_of(bool failed, const std::string& failure) {
  return failed ? fail(failure) : 0;
}

std::int32_t result_of(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

} // namespace

constinit std::atomic<tgt_callback_fct> Queue::callback_{nullptr};
constinit std::atomic<std::uintptr_t> Queue::made_{0};

Event* Queue::find(std::uintptr_t id) const {
  const auto at = events_.find(id);
  return at == events_.end() ? nullptr : at->second.get();
}

Event* Queue::live(tgt_event_t event) const {
  Event* const found = find(id_of(event));
  if (found && !found->is_released)
    return found;
  fail("event " + std::to_string(id_of(event)) + " is released, or none of this plugin's");
  return nullptr;
}

void Queue::let_wait(Event& event, Event& before, bool needs_success) {
  if (before.state != State::kDone) {
    before.dependents.push_back({&event, needs_success});
    event.before.push_back(&before);
  } else if (before.failed && needs_success) {
    take_failure(event, before);
  }
}

std::int32_t Queue::add(std::span<const tgt_event_t> dependences, Body body, tgt_event_t& made) {
  Lock lock(mutex_);
  for (const tgt_event_t dependence : dependences)
    if (dependence && !live(dependence))
      return 1;
  auto owned = std::make_unique<Event>();
  Event& event = *owned;
  event.id = ++made_;
  event.body = std::move(body);
  event.stream = !dependences.empty() && dependences[0] ? find(id_of(dependences[0]))->stream : nullptr;
  if (!event.stream)
    event.stream = std::make_shared<Stream>();
  events_.emplace(event.id, std::move(owned));
  if (event.stream->last)
    let_wait(event, *event.stream->last, false);
  for (const tgt_event_t dependence : dependences)
    if (dependence)
      let_wait(event, *find(id_of(dependence)), true);
  event.stream->last = &event;
  made = handle_of(event);
  Ready ready;
  if (event.before.empty())
    proceed(event, ready);
  hand_out(ready, nullptr, lock);
  return 0;
}

// `first` waits for nothing any more, or has run. Adds what can run now.
void Queue::proceed(Event& first, Ready& ready) {
  std::vector<Event*> free{&first};
  while (!free.empty()) {
    Event& event = *free.back();
    free.pop_back();
    if (event.state == State::kRunning || event.failed || !event.body) {
      complete(event, free);
    } else {
      event.state = State::kReady;
      ready.push_back(&event);
    }
  }
}

// Adds what waited for nothing else.
void Queue::complete(Event& event, std::vector<Event*>& free) {
  event.state = State::kDone;
  if (event.stream->last == &event)
    event.stream->last = nullptr;
  for (Waiter* waiter = event.waiters; waiter; waiter = waiter->next) {
    waiter->is_done = true;
    waiter->failed = event.failed;
    waiter->failure = event.failure;
    waiter->woken.notify_one(); // with the lock held: it lies on the other thread's stack
  }
  for (const auto [dependent, needs_success] : event.dependents) {
    if (event.failed && needs_success)
      take_failure(*dependent, event);
    dependent->before.erase(std::find(dependent->before.begin(), dependent->before.end(), &event));
    if (dependent->before.empty())
      free.push_back(dependent);
  }
  event.dependents.clear();
  if (const tgt_callback_fct callback = callback_; callback && !event.is_released)
    callback(handle_of(event));
  if (event.is_released)
    events_.erase(event.id);
}

std::int32_t Queue::release(tgt_event_t event) {
  const Lock lock(mutex_);
  Event* const found = live(event);
  if (!found)
    return 1;
  found->is_released = true;
  if (found->state == State::kDone)
    events_.erase(found->id);
  return 0;
}

bool Queue::is_live(tgt_event_t event) {
  const Lock lock(mutex_);
  return live(event) != nullptr;
}

std::int32_t Queue::query(tgt_event_t event) {
  const Lock lock(mutex_);
  const Event* const found = live(event);
  if (!found)
    return 1;
  return found->state == State::kDone ? result_of(found->failed, found->failure) : OMPTARGET_RTL_PENDING;
}

std::int32_t Queue::wait(tgt_event_t event) {
  Lock lock(mutex_);
  const auto next_of = [&] {
    Event* const found = live(event);
    return found ? ready_before(*found) : nullptr;
  };
  Event* next = next_of();
  while (next) {
    Ready ready;
    run(*next, lock, ready);
    next = next_of();
    hand_out(ready, next, lock);
  }
  Event* const found = live(event); // hand_out() may have let others in
  if (!found || found->state == State::kDone)
    return found ? result_of(found->failed, found->failure) : 1;
  Waiter waiter;
  waiter.next = std::exchange(found->waiters, &waiter);
  waiter.woken.wait(lock, [&] { return waiter.is_done; });
  return result_of(waiter.failed, waiter.failure);
}

// What stands between the event and its end, where no thread has begun it yet, or null. Of many dependences it follows
// the first: this is for the chain that a caller has just queued and now waits for. Others are left to the workers.
Event* Queue::ready_before(Event& event) {
  constexpr int kMostSteps = 64;
  Event* at = &event;
  for (int step = 0; step < kMostSteps && at->state == State::kWaiting; ++step)
    at = at->before.front();
  return at->state == State::kReady ? at : nullptr;
}

// Adds what can run thereafter.
void Queue::run(Event& event, Lock& lock, Ready& ready) {
  event.state = State::kRunning;
  {
    const Body body = std::move(event.body);
    lock.unlock();
    const std::int32_t result = result_of(body);
    lock.lock();
    if (result != 0) {
      event.failed = true;
      event.failure = last_error.data();
    }
  }
  proceed(event, ready);
}

// One that becomes ready is run by the thread that made it so: no other has to be woken.
void Queue::run_on_worker(std::uintptr_t id) {
  Lock lock(mutex_);
  Event* next = find(id);
  if (!next || next->state != State::kReady)
    return; // a thread that waits has it, or had it
  while (next) {
    Ready ready;
    run(*next, lock, ready);
    next = ready.empty() ? nullptr : ready.front();
    hand_out(ready, next, lock);
  }
}

// Gives all but one to workers. That one is the caller's: no other thread takes it while this one has no lock.
void Queue::hand_out(const Ready& ready, Event* except, Lock& lock) {
  std::vector<std::uintptr_t> ids;
  for (const Event* event : ready)
    if (event != except)
      ids.push_back(event->id);
  if (ids.empty())
    return;
  if (except)
    except->state = State::kRunning;
  lock.unlock();
  for (const std::uintptr_t id : ids)
    workers_.run([this, id] { run_on_worker(id); });
  lock.lock();
}

} // namespace omptool::host

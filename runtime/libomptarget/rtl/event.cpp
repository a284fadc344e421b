// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rtl/event.h"

#include "observe/events/sink.h"
#include "rtl/completions.h"

#include <iterator>

namespace omptool {

Event::~Event() {
  if (const tgt_event_t native = native_.load(std::memory_order_relaxed))
    Completions::of(*rtl_).release(native);
}

void Event::reach(State state, std::string failure) {
  Continuations now;
  {
    const std::lock_guard lock(mutex_);
    if (is_done())
      return;
    failure_ = std::move(failure);
    state_.store(state, std::memory_order_release);
    now.swap(at_queued_);
    if (state == State::kDone) {
      now.insert(now.end(), std::make_move_iterator(at_done_.begin()), std::make_move_iterator(at_done_.end()));
      at_done_.clear();
    }
  }
  changed_.notify_all();
  for (const std::function<void()>& then : now)
    then();
}

void Event::wait_until(State state) {
  if (state_.load(std::memory_order_acquire) >= state)
    return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_.load(std::memory_order_relaxed) >= state; });
  observe::note_pause();
}

std::string Event::wait_for_operations() {
  wait_queued();
  if (!is_done() && native())
    return Completions::of(*rtl_).wait(native());
  wait();
  return failure_;
}

void Event::when(State state, Continuations& waiting, std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (state_.load(std::memory_order_relaxed) < state) {
      waiting.push_back(std::move(then));
      return;
    }
  }
  then();
}

void Event::when_operations_end(const EventPtr& event, std::function<void()> then) {
  event->when_done(std::move(then));
  if (event->kind_ == Kind::kFilled && event->native() && !event->watched_.exchange(true))
    Completions::of(*event->rtl_).when_done(event->native(), [event](std::string failure) {
      event->set_done(std::move(failure));
    });
}

bool Event::can_follow(const Rtl& rtl, std::int32_t rtl_id) const {
  const tgt_event_t there = native();
  return there && rtl_ == &rtl && rtl.call().enforce_dep(rtl_id_, rtl_id, there) != 0;
}

} // namespace omptool

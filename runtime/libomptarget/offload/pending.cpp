// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/pending.h"

#include "offload/fallback.h"
#include "process/message.h"
#include "rtl/completions.h"
#include "rtl/core_workers.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace omptool {

// ---- when ----

// Whether it is handed over as soon as the device can order it behind what is awaited: not where the host makes the
// copies, nor where it has yet to bring the two sides of some object together, which comes after all that is awaited.
bool Pending::goes_at_once() {
  const std::vector<EventPtr>& awaited = commands().awaited();
  return device_.memory.chains() &&
         (!device_.data.table.any_host_current() ||
          std::all_of(awaited.begin(), awaited.end(), [](const EventPtr& event) { return event->is_done(); }));
}

// Whether nothing is left to do on the host before what comes after the event is handed over.
bool Pending::is_its_turn(const Event& event) const {
  return event.is_done() || (is_chained_ && event.can_follow(device_.rtl, device_.rtl_id));
}

// False: this goes on when an event says so.
bool Pending::wait_for_turn() {
  for (const EventPtr& one : commands().awaited()) {
    // Asked first: what is queued meanwhile may be followed. It may be done only when this has been queued.
    const bool is_resolved = one->is_queued() || !device_.memory.chains();
    if (is_its_turn(*one))
      continue;
    const EventPtr event = one; // what goes on may be over before this returns
    const auto then = [self = shared_from_this()] { self->proceed(); };
    if (is_resolved)
      Event::when_operations_end(event, then);
    else
      event->when_queued(then);
    return false;
  }
  return true;
}

void Pending::proceed() {
  if (wait_for_turn())
    run_later();
}

std::string Pending::go() {
  outstanding::begin();
  is_chained_ = goes_at_once();
  if (!wait_for_turn())
    return {};
  if (!is_chained_) {
    run_later();
    return {};
  }
  std::string failure = start();
  if (failure.empty())
    started();
  else
    outstanding::withdraw();
  return failure;
}

void Pending::run_later() {
  core_workers::operate([self = shared_from_this()] { self->run(); });
}

void Pending::run() {
  try {
    if (const std::string failure = start(); !failure.empty()) // no host version is left to run (decision 23)
      die("%s cannot be done on %s, and its call has returned: %s", name().c_str(), device_.describe().c_str(),
          failure.c_str());
    started();
  } catch (const std::exception& error) {
    die("%s", error.what());
  }
}

void Pending::started() {
  const tgt_event_t last = commands().last();
  if (!last) {
    end(commands().wait());
    return;
  }
  Completions::of(device_.rtl).when_done(last, [self = shared_from_this()](const std::string& why) {
    self->end(self->commands().has_ended(why));
  });
}

void Pending::end(const std::string& failure) {
  finish(failure);
  outstanding::end(callback_);
}

// ---- regions ----

std::string PendingRegion::take_position() {
  region_.take_position(Passage::kThrough);
  std::string failure = device_.data.beginning.lacks(region_.held());
  return failure.empty() ? region_.resolve_arguments() : failure;
}

std::string PendingRegion::start() {
  std::string failure = region_.start();
  if (failure.empty())
    region_.queue_end();
  return failure;
}

void PendingRegion::finish(const std::string& failure) {
  region_.finish(failure);
  placement_ = {};
}

void PendingRegion::abandon() {
  for (const EventPtr& event : std::vector<EventPtr>(commands().awaited()))
    event->wait();
  region_.abandon();
}

} // namespace omptool

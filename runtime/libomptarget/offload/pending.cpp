// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/pending.h"

#include "process/message.h"
#include "rtl/completions.h"
#include "rtl/core_workers.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace omptool {

Pending::Pending(Action action, Device& device, Rows rows, tgt_callback_param_t param)
    : device_(device), rows_(rows), callback_(outstanding::callback_for(param)),
      data_(data_construct_for_later(action, device, rows_)), construct_(*data_) {}

Pending::Pending(Device& device, Placement placement, std::shared_ptr<const Kernel> kernel, const Resolved& there,
                 Rows rows, const AskedShape& shape, tgt_callback_param_t param)
    : device_(device), rows_(rows), callback_(outstanding::callback_for(param)), placement_(std::move(placement)),
      kernel_(std::move(kernel)), there_(there), shape_(shape.whole()),
      region_(std::in_place, device, *kernel_, there_, rows_, asked_, Waits::kLater), construct_(*region_) {}

bool Pending::place(std::string& reason) {
  placed_ = construct_.place();
  return construct_.resolve(*placed_, reason);
}

void Pending::abandon() {
  for (const EventPtr& event : commands().awaited())
    event->wait();
  construct_.abandon(*placed_);
}

// False: this goes on when an event says so.
bool Pending::wait_for_turn() {
  for (const EventPtr& one : commands().awaited()) {
    // Asked first: what is queued meanwhile may be followed. It may be done only when this has been queued.
    const bool is_resolved = one->is_queued() || !device_.memory.chains();
    // Is nothing left to do on the host before what comes after the event is handed over?
    if (one->is_done() || (is_chained_ && one->can_follow(device_.rtl, device_.rtl_id)))
      continue;
    const EventPtr event = one; // what goes on may be over before this returns
    const auto then = [self = shared_from_this()] {
      if (self->wait_for_turn())
        self->run_later();
    };
    if (is_resolved)
      Event::when_operations_end(event, then);
    else
      event->when_queued(then);
    return false;
  }
  return true;
}

bool Pending::go(std::string& reason) {
  outstanding::begin();
  observe::Construct::leave(observed_);
  const std::vector<EventPtr> awaited = commands().awaited();
  // The device can order it, unless the host makes the copies, or has yet to merge the diverged copies of some object,
  // which comes after all that is awaited.
  is_chained_ = device_.memory.chains() &&
                (!device_.data.table.any_host_current() ||
                 std::all_of(awaited.begin(), awaited.end(), [](const EventPtr& event) { return event->is_done(); }));
  if (!wait_for_turn())
    return true;
  if (!is_chained_) {
    run_later();
    return true;
  }
  const bool has_started = start(reason);
  if (!has_started) {
    observe::Construct::take_back(observed_);
    outstanding::end();
  }
  return has_started;
}

void Pending::run_later() {
  core_workers::operate([this, self = shared_from_this()] {
    const observe::Within here(observed_.construct());
    try {
      if (std::string reason; !start(reason)) // no host version is left to run (decision 23)
        die("%s failed on %s after its call had returned: %s", construct_.name().c_str(), device_.describe().c_str(),
            reason.c_str());
    } catch (const std::exception& error) {
      die("%s", error.what());
    }
  });
}

// Hands the operations over. False, and why: nothing has begun.
bool Pending::start(std::string& reason) {
  handed_over_ = construct_.hand_over(*placed_, reason);
  if (!handed_over_)
    return false;
  if (const tgt_event_t last = commands().last()) {
    itself_ = shared_from_this();
    Completions::of(device_.rtl).when_done(last, [this](const std::string& why) { end(commands().has_ended(why)); });
  } else {
    end(commands().wait());
  }
  return true;
}

void Pending::end(const std::string& failure) {
  const std::shared_ptr<Pending> itself = std::move(itself_);
  std::string reason; // no host version is left to run
  {
    const observe::Within here(observed_.construct());
    if (failure.empty())
      construct_.finish(*handed_over_);
    else
      construct_.fail(*handed_over_, failure, reason);
  }
  placement_ = {};
  observed_.end();
  outstanding::end(callback_);
}

} // namespace omptool

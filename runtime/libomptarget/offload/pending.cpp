// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/pending.h"

#include "offload/fallback.h"
#include "offload/region.h"
#include "process/message.h"
#include "rtl/completions.h"
#include "rtl/core_workers.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace omptool {

namespace {

// Keeps the construct and the steps that it has taken.
template <typename Body> class PendingBody : public Pending {
public:
  CommandList& commands() final { return body_->commands(); }
  bool place(std::string& reason) final {
    placed_ = body_->place();
    return body_->settle(*placed_, reason);
  }
  void abandon() final {
    for (const EventPtr& event : commands().awaited())
      event->wait();
    body_->abandon(*placed_);
  }

protected:
  using Pending::Pending;
  bool start(std::string& reason) final {
    handed_over_ = body_->hand_over(*placed_, reason);
    return handed_over_.has_value();
  }
  void finish(const std::string& failure) override {
    std::string reason; // no host version is left to run
    if (failure.empty())
      body_->finish(*handed_over_);
    else
      body_->fail(*handed_over_, failure, reason);
  }
  std::string name() const final { return body_->name(); }

  std::optional<Body> body_; // made when the rows are there
  std::optional<Placed> placed_;
  std::optional<HandedOver> handed_over_;
};

template <typename Body> class PendingData final : public PendingBody<Body> {
public:
  PendingData(Device& device, Rows rows, const outstanding::Callback& callback)
      : PendingBody<Body>(device, rows, callback) {
    this->body_.emplace(device, this->rows_, CommandList::Use::kLater);
  }
};

class PendingRegion final : public PendingBody<Region> {
public:
  PendingRegion(Device& device, Placement placement, std::shared_ptr<const Kernel> kernel, const Resolved& there,
                Rows rows, const AskedShape& shape, const outstanding::Callback& callback)
      : PendingBody(device, rows, callback), placement_(std::move(placement)), kernel_(std::move(kernel)),
        there_(there), shape_(shape.whole()), asked_(shape_) {
    body_.emplace(device, *kernel_, there_, rows_, asked_, CommandList::Use::kLater);
  }
  ~PendingRegion() override { body_.reset(); } // before what it names
  void read_private() override { body_->read_private(*placed_); }

private:
  void finish(const std::string& failure) override {
    PendingBody::finish(failure);
    placement_ = {};
  }

  Placement placement_;
  const std::shared_ptr<const Kernel> kernel_;
  const Resolved there_;
  const LaunchShape shape_;
  const AskedShape asked_;
};

} // namespace

std::shared_ptr<Pending> pending_region(Device& device, Placement placement, std::shared_ptr<const Kernel> kernel,
                                        const Resolved& there, Rows rows, const AskedShape& shape,
                                        const outstanding::Callback& callback) {
  return std::make_shared<PendingRegion>(device, std::move(placement), std::move(kernel), there, rows, shape, callback);
}

std::shared_ptr<Pending> pending_data(DataAction action, Device& device, Rows rows,
                                      const outstanding::Callback& callback) {
  switch (action) {
  case DataAction::kBegin:
    return std::make_shared<PendingData<BeginConstruct>>(device, rows, callback);
  case DataAction::kEnd:
    return std::make_shared<PendingData<EndConstruct>>(device, rows, callback);
  case DataAction::kUpdate:
    break;
  }
  return std::make_shared<PendingData<UpdateConstruct>>(device, rows, callback);
}

// ---- when ----

// Tells if it is handed over as soon as the device can order it behind what is awaited: not where the host makes the
// copies, nor where it has yet to bring the two sides of some object together, which comes after all that is awaited.
bool Pending::goes_at_once() {
  const std::vector<EventPtr> awaited = commands().awaited();
  return device_.memory.chains() &&
         (!device_.data.table.any_host_current() ||
          std::all_of(awaited.begin(), awaited.end(), [](const EventPtr& event) { return event->is_done(); }));
}

// Tells if nothing is left to do on the host before what comes after the event is handed over.
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

bool Pending::go(std::string& reason) {
  outstanding::begin();
  is_chained_ = goes_at_once();
  if (!wait_for_turn())
    return true;
  if (!is_chained_) {
    run_later();
    return true;
  }
  const bool has_started = start(reason);
  if (has_started)
    started();
  else
    outstanding::withdraw();
  return has_started;
}

void Pending::run_later() {
  core_workers::operate([self = shared_from_this()] { self->run(); });
}

void Pending::run() {
  try {
    if (std::string reason; !start(reason)) // no host version is left to run (decision 23)
      die("%s failed on %s after its call had returned: %s", name().c_str(), device_.describe().c_str(),
          reason.c_str());
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

} // namespace omptool

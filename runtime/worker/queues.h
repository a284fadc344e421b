// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "devices.h"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace omptool::worker {

// Queued operation: one that a device's queue has accepted.
class Queued {
public:
  Queued(const Rtl& rtl, std::int32_t device, tgt_event_t event, std::vector<void*> arguments)
      : rtl_(rtl), device_(device), event_(event), arguments_(std::move(arguments)) {}
  ~Queued() { rtl_.call().release_dep(event_); }
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;

  bool is_of(const Rtl& rtl, std::int32_t device) const { return &rtl == &rtl_ && device == device_; }
  tgt_event_t event() const { return event_; }
  // Returns what the operation's end is.
  std::int32_t wait() const { return rtl_.call().wait_event(event_); }
  // Returns true for the first caller: its operation is the next in the stream of this one.
  bool takes_next() const { return !has_next_.exchange(true); }

private:
  const Rtl& rtl_;
  const std::int32_t device_;
  const tgt_event_t event_;
  const std::vector<void*> arguments_; // of a kernel, which may read them until it ends
  mutable std::atomic<bool> has_next_{false};
};
using QueuedPtr = std::shared_ptr<const Queued>;

// The queues of the devices.
class Queues {
public:
  explicit Queues(const Devices& devices) : devices_(devices) {}

  // Returns whether the device's queue accepts the operation: then hand_over() and await() are called in place of it.
  bool has_queue_for(const Operation& operation) const;
  // Returns whether the queue for the operation also has the other one.
  bool can_follow(const Operation& operation, const Queued& before) const;
  // Queues the operation behind others of its device. `outcome`, into which it copies, stays until it has ended. Null:
  // the outcome is that it has failed.
  QueuedPtr hand_over(const Operation& operation, const std::vector<QueuedPtr>& behind, Outcome& outcome) const;
  void await(const Operation& operation, const Queued& queued, Outcome& outcome) const;

private:
  const Devices& devices_;
};

} // namespace omptool::worker

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Completion of a construct whose work continues after its call. The event is placed when the construct gets its
// position among the others, queued once the device has all its operations, and done when they have ended.
#pragma once

#include "rtl/rtl.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace omptool {

class Event;
using EventPtr = std::shared_ptr<Event>;

// Event, callable on any thread that owns it. The last owner releases the plugin's event, and so must hold no lock of
// the core.
class Event {
public:
  // Kind: the event stands for all operations of a construct, or for its copies to the device alone.
  enum class Kind : std::uint8_t { kEnded, kFilled };
  // Makes an event in the state placed. `rtl` is null for a construct that runs on no device; `rtl_id` is the device's
  // number in the plugin.
  explicit Event(const Rtl* rtl = nullptr, std::int32_t rtl_id = 0, Kind kind = Kind::kEnded)
      : rtl_(rtl), rtl_id_(rtl_id), kind_(kind) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bool is_queued() const { return state_.load(std::memory_order_acquire) != State::kPlaced; } // or done
  bool is_done() const { return state_.load(std::memory_order_acquire) == State::kDone; }
  // The plugin's event of the last operation; null before it is queued, and where the construct never was.
  tgt_event_t native() const { return native_.load(std::memory_order_acquire); }

  // Setters, called in this order; the first one is optional. The event owns `native` from now on.
  void set_handed_over(tgt_event_t native) {
    native_.store(native, std::memory_order_release);
    reach(State::kQueued, {});
  }
  void set_done(std::string failure = {}) { reach(State::kDone, std::move(failure)); } // again: without effect
  // Returns why the construct, or one that it waited for, failed, or "". The event is done.
  const std::string& failure() const { return failure_; }

  void wait_queued() { wait_until(State::kQueued); } // or done
  void wait() { wait_until(State::kDone); }
  // Waits for the operations to end, even if the construct reports that later. Returns "" or the reason of a failure.
  std::string wait_for_operations();
  // Runs `then` once, with no lock held: now, on this thread, if it is so already, else on the one that sets it.
  void when_queued(std::function<void()> then) { when(State::kQueued, at_queued_, std::move(then)); } // or done
  void when_done(std::function<void()> then) { when(State::kDone, at_done_, std::move(then)); }
  // Calls `then` when the operations of a queued event have ended on the device: the construct itself may report that
  // only after its caller waits.
  static void when_operations_end(const EventPtr& event, std::function<void()> then);

  // Returns whether an operation of that device may name native() among what it waits for.
  bool can_follow(const Rtl& rtl, std::int32_t rtl_id) const;

private:
  enum class State : std::uint8_t { kPlaced, kQueued, kDone };
  using Continuations = std::vector<std::function<void()>>;

  void reach(State state, std::string failure);
  void wait_until(State state);
  void when(State state, Continuations& waiting, std::function<void()> then);

  const Rtl* const rtl_;
  const std::int32_t rtl_id_;
  const Kind kind_;
  std::atomic<bool> watched_{false};         // the device reports when it is done
  std::atomic<State> state_{State::kPlaced}; // written with the lock held
  std::atomic<tgt_event_t> native_{nullptr};
  std::string failure_; // before kDone
  std::mutex mutex_;
  std::condition_variable changed_;
  Continuations at_queued_, at_done_;
};

} // namespace omptool

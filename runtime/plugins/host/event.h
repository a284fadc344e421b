// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation of the asynchronous functions, as long as it has not completed or its event is not released.
#pragma once

#include "omptarget_rtl.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace omptool::host {

// Runs an operation: returns 0, or another value if it failed and last_error says why. Empty where it only joins
// others.
using Body = std::function<std::int32_t()>;

struct Event;

// Operations that run one after another.
struct Stream {
  Event* last = nullptr; // unless it is done
};

// A thread that waits for an event. It lies on the thread's stack, and gets what the event has to say: by the time
// that the thread runs, somebody may have released the event.
struct Waiter {
  std::condition_variable woken;
  bool is_done = false;
  bool failed = false;
  std::string failure;
  Waiter* next = nullptr;
};

// All of it is under the lock of the Queue that it belongs to.
struct Event {
  enum class State : std::uint8_t { kWaiting, kReady, kRunning, kDone };
  struct Dependent {
    Event* event;
    bool needs_success; // else it only comes behind this one in the stream
  };

  std::uintptr_t id = 0;
  State state = State::kWaiting;
  bool is_released = false;
  bool failed = false; // or will: what it depends on has
  std::string failure;
  Body body;
  std::shared_ptr<Stream> stream;
  std::vector<Event*> before;        // what it waits for, once for each reason
  std::vector<Dependent> dependents; // the same from the other side
  Waiter* waiters = nullptr;
};

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation of the asynchronous functions.
#pragma once

#include "common/events.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace omptool::host {

// Body of an operation: returns 0, or another value if it failed, with the reason in last_error. Empty for an operation
// that only joins others.
using Body = std::function<std::int32_t()>;

struct Operation;

// Stream: operations that run one after another.
struct Stream {
  Operation* last = nullptr; // unless it is done
};

// A thread that waits for an operation. It lies on the thread's stack.
struct Waiter {
  std::condition_variable woken;
  Waiter* next = nullptr;
};

// Operation of the queue, guarded by the lock of the events. `failure` is set before the operation is done if a
// dependence has failed.
struct Operation : plugin::Event, std::enable_shared_from_this<Operation> {
  enum class State : std::uint8_t { kWaiting, kReady, kRunning };
  struct Dependent {
    Operation* operation;
    bool needs_success; // else it only comes behind this one in the stream
  };

  State state = State::kWaiting; // until it is done
  Body body;
  std::shared_ptr<Stream> stream;
  std::vector<Operation*> before;    // dependences, once for each reason
  std::vector<Dependent> dependents; // the same from the other side
  Waiter* waiters = nullptr;
};

} // namespace omptool::host

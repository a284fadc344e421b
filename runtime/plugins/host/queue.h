// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue of asynchronous operations: each starts, on a worker thread, when its dependences have completed.
// omptarget_rtl.h defines streams and events.
#pragma once

#include "common/events.h"
#include "operation.h"
#include "workers.h"

#include <cstdint>
#include <vector>

namespace omptool::host {

// Queue of one process. Its threads wait for work until the process ends.
class Queue {
public:
  using Lock = plugin::Events::Lock;

  Queue(plugin::Events& events, unsigned most_in_flight) : events_(events), workers_(most_in_flight) {}

  // Adds an operation. Returns 0, or a failure with last_error set.
  std::int32_t add(const plugin::Dependences& order, Body body);
  // Requires the lock, which it releases while it waits. Also runs dependences of the operation that no other thread
  // has begun.
  void await(Operation& operation, Lock& lock);
  void end() { workers_.end(); } // for a process that exits

private:
  using Ready = std::vector<Operation*>;

  // Requires the lock.
  static void let_wait(Operation& operation, Operation& before, bool needs_success);
  void proceed(Operation& first, Ready& ready);
  void complete(Operation& operation, std::vector<Operation*>& free);
  static Operation* ready_before(Operation& operation);
  // Release the lock in between.
  void run(Operation& operation, Lock& lock, Ready& ready);
  void hand_out(const Ready& ready, Operation* except, Lock& lock);

  void run_on_worker(Operation& operation);

  plugin::Events& events_;
  Workers workers_;
};

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of the asynchronous functions: each starts, on a thread of its own, when those that it depends on have
// completed. omptarget_rtl.h says what streams and events are.
#pragma once

#include "common/events.h"
#include "operation.h"
#include "workers.h"

#include <cstdint>
#include <vector>

namespace omptool::host {

// Of one process; its threads wait for more until that ends.
class Queue {
public:
  using Lock = plugin::Events::Lock;

  Queue(plugin::Events& events, unsigned most_in_flight) : events_(events), workers_(most_in_flight) {}

  // 0, or a failure, with last_error set.
  std::int32_t add(const plugin::Dependences& order, Body body);
  // With the lock held, which it gives up in between. Also runs what the operation waits for, where no other thread has
  // begun to.
  void await(Operation& operation, Lock& lock);
  void end() { workers_.end(); } // for a process that exits

private:
  using Ready = std::vector<Operation*>;

  // With the lock held.
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

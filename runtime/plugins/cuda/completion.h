// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "operation.h"

#include <condition_variable>
#include <string>
#include <utility>
#include <vector>

namespace omptool::cuda {

// Ends operations, and lists the chains with pending operations. Its functions require the lock of the events.
class Completion {
public:
  explicit Completion(plugin::Events& events) : events_(events) {}

  plugin::Events& events() const { return events_; }
  // Changes of a chain: notified when its user has finished with it.
  std::condition_variable& changed() { return changed_; }
  const std::vector<std::shared_ptr<Chain>>& busy() const { return busy_; } // chains that are not idle
  void note_busy(const std::shared_ptr<Chain>& chain);
  void note_idle(Chain& chain);

  void end(Operation& operation, std::string failure, bool is_lost);
  // Ends the chain's operations up to `last`, or all of them if the outcome is a failure.
  void end_until(const std::shared_ptr<Chain>& chain, const OperationPtr& last, Outcome outcome);
  void find_guilty(const std::shared_ptr<Chain>& chain, Lock& lock);
  // Releases the memory that ended launches had borrowed. Gives up the lock in between.
  void release_lent(Lock& lock);

private:
  plugin::Events& events_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Chain>> busy_;
  std::vector<std::pair<Device*, CUdeviceptr>> lent_;
};

} // namespace omptool::cuda

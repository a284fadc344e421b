// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of the asynchronous functions: omptarget_rtl.h says what streams and events are. A chain of them is a
// stream of the driver's, which runs them in order, and is asked as a whole: one wait for the last of a chain tells of
// all. An event of the driver's is recorded only where another stream has to wait.
//
// Copies of few bytes to the GPU with which a chain begins are gathered (gather.h) until something else is given, or
// somebody asks for them.
//
// Copies from the GPU to memory that is not page-locked, and large ones from it, are kept back while something is
// before them, since the driver returns from them when all of that has ended; and what depends on them is, too. They go
// on in calls that wait, and in __tgt_rtl_process_dep: small ones that are kept one behind the other in one transfer.
#pragma once

#include "operation.h"

#include <condition_variable>
#include <cstdint>
#include <utility>
#include <vector>

namespace omptool::cuda {

// Of one process.
class Queue {
public:
  using Lock = plugin::Events::Lock;

  explicit Queue(plugin::Events& events) : events_(events) {}

  // 0, or a failure, with last_error set.
  std::int32_t add(Device& device, const plugin::Dependences& order, const OperationPtr& operation);
  // With the lock held, which they give up in between.
  void await(const OperationPtr& operation, Lock& lock);
  void look_at(const OperationPtr& operation, Lock& lock);
  // Gets on as far as that goes without waiting. Returns whether something is still to be done.
  bool process();

private:
  using MarkPtrs = std::vector<MarkPtr>;
  using OperationPtrs = std::vector<OperationPtr>;

  // With the lock held.
  bool take_dependences(Device& device, const plugin::Dependences& order, Operation& operation) const;
  static bool must_be_kept(const Operation& operation);
  static bool would_wait(const Operation& operation);
  static bool can_go(const Chain& chain);
  void end(Operation& operation, std::string failure, bool is_lost);
  void end_until(const std::shared_ptr<Chain>& chain, const OperationPtr& last, Outcome outcome);
  void note_busy(const std::shared_ptr<Chain>& chain);
  void note_idle(Chain& chain);
  static OperationPtr failed_before(const Operation& operation); // or null
  static bool may_gather(const Operation& operation, const MarkPtrs& marks);
  static bool may_join(const Operation& operation, const OperationPtrs& together);
  void fail_gathered(Chain& chain, std::int32_t failure);
  // These give it up in between.
  std::int32_t marks_before(const Operation& operation, MarkPtrs& marks, Lock& lock);
  MarkPtr mark_of(Operation& operation, std::int32_t& failure, Lock& lock);
  std::int32_t give(const OperationPtr& operation, const MarkPtrs& marks, Lock& lock);
  bool gather(const OperationPtr& operation, std::int32_t& failure, Lock& lock);
  std::int32_t send_gathered(Chain& chain, Lock& lock);
  bool settle(const std::shared_ptr<Chain>& chain, Lock& lock);
  void settle_all(Lock& lock);
  void give_kept(const std::shared_ptr<Chain>& chain, Lock& lock);
  void fetch_together(const std::shared_ptr<Chain>& chain, const MarkPtrs& marks, Lock& lock);
  void find_guilty(const std::shared_ptr<Chain>& chain, Lock& lock);
  void push(const OperationPtr& operation, Lock& lock);
  void await_in_chain(const OperationPtr& operation, Lock& lock);
  void look_at_chain(const std::shared_ptr<Chain>& chain, Lock& lock);
  void look_at_all(Lock& lock);
  void give_back_lent(Lock& lock);
  // Without it, in the chain's turn.
  static std::int32_t hand_over(Operation& operation, const MarkPtrs& marks);
  static std::int32_t wait_in_stream(Chain& chain, const MarkPtrs& marks, const Operation& operation);

  plugin::Events& events_;
  std::condition_variable changed_;          // users of chains
  std::vector<std::shared_ptr<Chain>> busy_; // chains that are not idle
  std::vector<std::pair<Device*, CUdeviceptr>> lent_;
  int gathers_ = 0; // of chains, that the driver has not got yet
};

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "submission.h"

namespace omptool::cuda {

// Waits for operations, polls streams, and submits what was kept back. Its functions need the lock of the events, and
// give it up in between.
class Progress {
public:
  Progress(Completion& completion, SmallCopies& small_copies, Submission& submission)
      : completion_(completion), small_copies_(small_copies), submission_(submission) {}

  void await(const OperationPtr& operation, Lock& lock);
  void look_at(const OperationPtr& operation, Lock& lock);
  // Advances all chains as far as that goes without waiting. Returns whether something is still to be done. Called
  // without the lock.
  bool process();

private:
  static bool can_go(const Chain& chain);
  void submit_kept(const std::shared_ptr<Chain>& chain, Lock& lock);
  void push(const OperationPtr& operation, Lock& lock);
  void await_in_chain(const OperationPtr& operation, Lock& lock);
  void look_at_chain(const std::shared_ptr<Chain>& chain, Lock& lock);
  void look_at_all(Lock& lock);

  Completion& completion_;
  SmallCopies& small_copies_;
  Submission& submission_;
};

} // namespace omptool::cuda

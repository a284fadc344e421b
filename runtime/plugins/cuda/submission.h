// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "small_copies.h"

namespace omptool::cuda {

// Submits operations to the driver's streams. Its functions require the lock of the events; those with a lock parameter
// release it while they wait.
class Submission {
public:
  Submission(Completion& completion, SmallCopies& small_copies)
      : completion_(completion), small_copies_(small_copies) {}

  static bool would_wait(const Operation& operation);
  static bool must_be_kept(const Operation& operation);
  static OperationPtr failed_before(const Operation& operation); // or null
  std::int32_t marks_before(const Operation& operation, MarkPtrs& marks, Lock& lock);
  std::int32_t submit(const OperationPtr& operation, const MarkPtrs& marks, Lock& lock);

private:
  MarkPtr mark_of(Operation& operation, std::int32_t& failure, Lock& lock);
  // Runs without the lock, in the chain's turn.
  static std::int32_t hand_over(Operation& operation, const MarkPtrs& marks);

  Completion& completion_;
  SmallCopies& small_copies_;
};

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of the asynchronous functions (submission.h, progress.h, completion.h): omptarget_rtl.h says what
// streams and events are. A chain of them is a stream of the driver's, which runs them in order, and is asked as a
// whole: one wait for the last of a chain tells of all. An event of the driver's is recorded only where another stream
// has to wait.
//
// Copies of few bytes to the GPU with which a chain begins are gathered (small_copies.h) until something else is
// submitted, or somebody asks for them.
//
// Copies from the GPU to memory that is not page-locked, and large ones from it, are kept back while something is
// before them, since the driver returns from them when all of that has ended; and what depends on them is, too. They go
// on in calls that wait, and in __tgt_rtl_process_dep: small ones that are kept one behind the other in one transfer.
#pragma once

#include "progress.h"

#include <cstdint>

namespace omptool::cuda {

// The asynchronous operations of one process.
class Queue {
public:
  explicit Queue(plugin::Events& events) : events_(events) {}

  // Adds an operation behind others. Returns 0, or a failure, with last_error set.
  std::int32_t add(Device& device, const plugin::Dependences& order, const OperationPtr& operation);
  void await(const OperationPtr& operation, Lock& lock) { progress_.await(operation, lock); }
  void look_at(const OperationPtr& operation, Lock& lock) { progress_.look_at(operation, lock); }
  bool process() { return progress_.process(); }

private:
  bool take_dependences(Device& device, const plugin::Dependences& order, Operation& operation) const;

  plugin::Events& events_;
  Completion completion_{events_};
  SmallCopies small_copies_{completion_};
  Submission submission_{completion_, small_copies_};
  Progress progress_{completion_, small_copies_, submission_};
};

} // namespace omptool::cuda

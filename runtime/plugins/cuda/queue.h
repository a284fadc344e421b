// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue of asynchronous operations (submission.h, progress.h, completion.h); omptarget_rtl.h defines streams and
// events. A chain of operations is one stream of the driver, which runs it in order, so one wait for a chain's last
// operation covers the whole chain. The plugin records a driver event only where another stream has to wait.
//
// Small copies to the GPU at the start of a chain are gathered (small_copies.h) until another operation is submitted,
// or a caller waits for them.
//
// Copies from the GPU to memory that is not page-locked, and large copies from the GPU, are held back while operations
// before them are pending, because the driver returns from such copies only when those have ended. Operations that
// depend on a held copy are held, too. Calls that wait, and __tgt_rtl_process_dep, submit them; adjacent small copies
// share one transfer.
#pragma once

#include "progress.h"

#include <cstdint>

namespace omptool::cuda {

// Queue of the asynchronous operations of one process.
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

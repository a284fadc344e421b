// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host version of a region that fell back. It is the program's own code, which says nothing when it
// is done: it may be running until its thread calls the runtime for other work, or ends.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace omptool {

class HostFallback {
public:
  // The calling thread is about to run one; those that it ran are over.
  static HostFallback begin();
  // The calling thread has other work to do: those that it ran are over.
  static void end();

  bool is_over() const { return over_->load(std::memory_order_acquire); }

private:
  explicit HostFallback(std::shared_ptr<const std::atomic<bool>> over) : over_(std::move(over)) {}
  std::shared_ptr<const std::atomic<bool>> over_;
};

} // namespace omptool

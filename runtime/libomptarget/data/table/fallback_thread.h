// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host version of a region that fell back. It is the program's own code, which says nothing when it
// is done: it may be running until its thread calls the runtime for other work, or ends.
#pragma once

#include <atomic>
#include <cstdint>

namespace omptool {

class HostFallback {
public:
  // The calling thread is about to run one.
  static HostFallback begin();
  // The calling thread has other work to do: those that it ran are over.
  static void end();

  bool is_over() const { return thread_->over.load(std::memory_order_acquire) >= number_; }
  bool is_of_same_thread(const HostFallback& other) const { return thread_ == other.thread_; }

  struct Thread {
    std::atomic<std::uint64_t> over{0}; // the last that is
    std::uint64_t begun = 0;            // the last of all
    std::atomic<bool> taken{true};
    Thread* next = nullptr;
  };

private:
  HostFallback(const Thread& thread, std::uint64_t number) : thread_(&thread), number_(number) {}
  const Thread* thread_;
  std::uint64_t number_;
};

} // namespace omptool

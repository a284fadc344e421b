// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU's context. The driver has a current one for each thread, which the program may change, too.
#pragma once

#include "driver.h"

#include <cstdint>
#include <functional>
#include <string>

namespace omptool::cuda {

class Context {
public:
  explicit Context(const Driver& functions) : driver(functions) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The device's primary context, which other libraries in the process use, too.
  Outcome retain(CUdevice device);

  // For calls that work on whatever context is current, and would succeed in a wrong one.
  Outcome enter() const;

  // For calls that name a stream. They refuse a context that is not the stream's without having done anything: only
  // then is it made current, so that a thread that works with one GPU says so once.
  template <typename Call> Outcome in_stream(const Call& call) const {
    if (current_ == handle) {
      const Outcome outcome = call();
      if (outcome.result != CUDA_ERROR_INVALID_CONTEXT && outcome.result != CUDA_ERROR_INVALID_HANDLE)
        return outcome;
    }
    const Outcome entered = enter();
    return entered.ok() ? call() : entered;
  }

  // For calls that may take memory of the device's: when it has none left, what is kept of it goes back to the driver,
  // and the call comes once more. No lock of Memory's may be held.
  template <typename Call> Outcome taking_memory(const Call& call) const {
    const Outcome outcome = call();
    return outcome.result == CUDA_ERROR_OUT_OF_MEMORY && give_memory_back && give_memory_back() ? call() : outcome;
  }

  const Driver& driver;
  CUcontext handle = nullptr;
  std::function<bool()> give_memory_back; // false: there is nothing to be given

private:
  static thread_local constinit CUcontext current_; // that this plugin made so last
};

// Remembers why `what` failed, and returns what a failing call returns: OMPTARGET_RTL_DEVICE_LOST where nothing more
// can be done with the device.
std::int32_t fail_of(const Driver& driver, Outcome outcome, const std::string& what);

// The end of memory, images and the like: a driver that is shut down already has ended them.
bool has_ended(Outcome outcome);

} // namespace omptool::cuda

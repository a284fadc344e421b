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

  // Retains the device's primary context, which other libraries of the process share.
  Outcome retain(CUdevice device);

  // Enters the context, for calls that use the current context and would succeed in a wrong one.
  Outcome enter() const;

  // Calls a driver function that names a stream. Such a function fails without effect if the current context is not the
  // stream's. The context is set only then, so a thread that uses one GPU sets it once.
  template <typename Call> Outcome in_stream(const Call& call) const {
    if (current_ == handle) {
      const Outcome outcome = call();
      if (outcome.result != CUDA_ERROR_INVALID_CONTEXT && outcome.result != CUDA_ERROR_INVALID_HANDLE)
        return outcome;
    }
    const Outcome entered = enter();
    return entered.ok() ? call() : entered;
  }

  // Calls a driver function that may allocate device memory. If the device has none left, returns cached memory to the
  // driver and calls the function again. Called without the lock of Memory.
  template <typename Call> Outcome taking_memory(const Call& call) const {
    const Outcome outcome = call();
    return outcome.result == CUDA_ERROR_OUT_OF_MEMORY && give_memory_back && give_memory_back() ? call() : outcome;
  }

  const Driver& driver;
  CUcontext handle = nullptr;
  std::function<bool()> give_memory_back; // returns false if there is none

private:
  static thread_local constinit CUcontext current_; // that this plugin made so last
};

// Remembers why `what` failed, and returns what a failing call returns: OMPTARGET_RTL_DEVICE_LOST where nothing more
// can be done with the device.
std::int32_t fail_of(const Driver& driver, Outcome outcome, const std::string& what);

// Returns whether memory, images and streams have already ended, because the driver is shut down.
bool has_ended(Outcome outcome);

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "context.h"

#include "common/calls.h"
#include "omptarget_rtl.h"

namespace omptool::cuda {

thread_local constinit CUcontext Context::current_ = nullptr;

Outcome Context::retain(CUdevice device) {
  return OMPTOOL_CUDA(driver, cuDevicePrimaryCtxRetain, &handle, device);
}

Outcome Context::enter() const {
  const Outcome outcome = OMPTOOL_CUDA(driver, cuCtxSetCurrent, handle);
  current_ = outcome.ok() ? handle : nullptr;
  return outcome;
}

std::int32_t fail_of(const Driver& driver, Outcome outcome, const std::string& what) {
  fail(what + ": " + text_of(driver, outcome));
  return is_lost(outcome.result) ? OMPTARGET_RTL_DEVICE_LOST : 1;
}

bool has_ended(Outcome outcome) {
  return outcome.ok() || outcome.result == CUDA_ERROR_DEINITIALIZED;
}

} // namespace omptool::cuda

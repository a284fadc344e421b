// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constructs of every ABI, for those who listen.
#pragma once

#include "observe/sink.h"

#include <cstdint>
#include <optional>

namespace omptool {

// Announces a call while it lasts, if it is for a device and anybody listens.
class ReportedCall {
public:
  // `device`: as the program gives it. The call's own is set to its number.
  ReportedCall(const observe::Call& call, std::int64_t device) {
    if (observe::may_be_heard()) [[unlikely]]
      begin(call, device);
  }
  // Of the device; -1: it is not reported.
  int device() const { return device_; }

private:
  void begin(observe::Call call, std::int64_t device);
  int device_ = -1;
  std::optional<observe::Construct> construct_;
};

} // namespace omptool

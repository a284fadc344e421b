// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constructs of every ABI, for those who listen.
#pragma once

#include "observe/sink.h"
#include "offload/data_constructs.h"

#include <cstdint>
#include <optional>

namespace omptool {

// Announces a call while it lasts, if anybody listens.
class ReportedCall {
public:
  // `device`: as the program gives it; the call's own is set to its number. Without it the call is for none. A call for
  // a number that no device has is not reported.
  explicit ReportedCall(const observe::Call& call, std::optional<std::int64_t> device = std::nullopt) {
    if (observe::may_be_heard()) [[unlikely]]
      begin(call, device);
  }
  // Of the device; -1: it is not reported, or for none.
  int device() const { return device_; }

private:
  void begin(observe::Call call, std::optional<std::int64_t> device);
  int device_ = -1;
  std::optional<observe::Construct> construct_;
};

// Returns what the core does for a construct that runs no kernel.
constexpr DataAction data_action_of(observe::Action action) {
  return action == observe::Action::kEnterData  ? DataAction::kBegin
         : action == observe::Action::kExitData ? DataAction::kEnd
                                                : DataAction::kUpdate;
}

} // namespace omptool

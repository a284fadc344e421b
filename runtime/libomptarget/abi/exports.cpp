// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/exports.h"

#include "observe/listeners.h"
#include "offload/fallback.h"
#include "offload/offload.h"
#include "process/default_device.h"

#include <utility>

namespace omptool {
namespace {

// A routine that calls another is the one that the program calls.
bool is_in_routine() {
  const observe::Begun* const outer = observe::Within::innermost();
  return outer && outer->call.action == Action::kRoutine;
}

} // namespace

void ReportedCall::begin(observe::Call call, std::optional<std::int64_t> device) {
  observe::find_listeners();
  if (!observe::heard())
    return;
  if (device) {
    const std::int64_t number = device_number(*device);
    if (number < 0 || number >= number_of_devices())
      return;
    device_ = static_cast<int>(number);
    prepared_device(device_); // what that takes is not the construct's
    call.device = device_;
  }
  std::shared_ptr<Kernel> kernel = call.entry ? kernel_of(call.entry) : nullptr;
  if (kernel)
    call.region = kernel->name;
  if (device || !is_in_routine())
    announced_.emplace(std::move(kernel), call);
}

} // namespace omptool

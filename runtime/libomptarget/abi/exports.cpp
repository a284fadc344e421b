// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/exports.h"

#include "abi/info/info.h"
#include "observe/listeners.h"
#include "offload/fallback.h"
#include "offload/offload.h"
#include "process/libomp.h"

#include <cstdio>

namespace omptool {

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
  kernel_ = call.entry ? kernel_of(call.entry) : nullptr;
  if (kernel_)
    call.region = kernel_->name;
  // Outer call: if a routine calls another one, the program has called the outer one.
  const observe::Begun* const outer = observe::Within::innermost();
  if (device || !outer || outer->call.action != Action::kRoutine)
    construct_.emplace(call);
}

void register_library(const void* descriptor, LibraryReader read) noexcept {
  guarded("__tgt_register_lib", [&] {
    info::read_info();
    if (descriptor)
      Registry::obtain().add(descriptor, read);
  });
}

void unregister_library(const void* descriptor) noexcept {
  guarded("__tgt_unregister_lib", [&] {
    Registry* const registry = Registry::current();
    if (!registry || !descriptor)
      return;
    if (info::informs(info::kInfoTable) && registry->is_last(descriptor))
      info::tell_tables();
    registry->remove(descriptor);
  });
}

std::string describe_fault(const char* fault, const void* begin, std::int64_t size, std::uint64_t type) {
  char text[160];
  std::snprintf(text, sizeof text, "%s (address %p, size %lld, type 0x%llx)", fault, begin,
                static_cast<long long>(size), static_cast<unsigned long long>(type));
  return text;
}

} // namespace omptool

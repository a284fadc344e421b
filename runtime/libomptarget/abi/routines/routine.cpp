// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/routines/routine.h"

#include "observe/listeners.h"

namespace omptool {

// Listeners that start with this call hear of it, too.
void Routine::begin(const observe::Call& call) {
  observe::find_listeners();
  if (observe::heard())
    construct_.emplace(call);
}

void report_lookup(Device& device, const void* address) {
  if (!observe::heard())
    return;
  observe::ObjectAsked asked{device.number, address, {}};
  for (const MappedObject& object : device.data.table.objects())
    if (object.device && object.host.contains(HostRange::of(address, 1)))
      asked.object = {object.host, object.device, 0, object.references, object.holds, object.infinite, false, false};
  observe::report(asked);
}

void report_copy(const Device& device, bool to_device, const void* host, const void* there, std::size_t size) {
  if (observe::heard())
    observe::report(observe::ObjectCopied{
        observe::Construct::current(), device.number, to_device, host, there, static_cast<std::int64_t>(size), {}, {}});
}

} // namespace omptool

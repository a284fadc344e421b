// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/routines/info.h"

#include "abi/llvm/info.h"
#include "devices/registry.h"

namespace omptool {

void tell_of_question(Device& device, const void* address) {
  if (!informs(kInfoFound))
    return;
  const HostRange byte = HostRange::of(address, 1);
  for (const MappedObject& object : device.data.objects())
    if (object.device && object.host.contains(byte))
      inform(device.number,
             "Mapping exists with HstPtrBegin=%s, TgtPtrBegin=%s, Size=1, DynRefCount=%s (update suppressed), "
             "HoldRefCount=%lld",
             hex(address).c_str(), hex(object.device + (byte.begin - object.host.begin)).c_str(),
             object.infinite ? "INF" : std::to_string(object.references).c_str(), static_cast<long long>(object.holds));
}

void tell_of_copy_in(const Device& device, const void* host, const void* there, std::int64_t size) {
  if (informs(kInfoCopies))
    inform(device.number, "Copying data from host to device, HstPtr=%s, TgtPtr=%s, Size=%lld, Name=unknown",
           hex(host).c_str(), hex(there).c_str(), static_cast<long long>(size));
}

void tell_of_copy_out(const Device& device, const void* host, const void* there, std::int64_t size) {
  if (informs(kInfoCopies))
    inform(device.number, "Copying data from device to host, TgtPtr=%s, HstPtr=%s, Size=%lld, Name=unknown",
           hex(there).c_str(), hex(host).c_str(), static_cast<long long>(size));
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/deferred.h"

#include <algorithm>

namespace omptool {
namespace {

void forget_work(Deferred& work) {
  work = {[](Device&) {}};
}

} // namespace

std::optional<Deferred> DeferredWork::next(Device& device) const {
  return device.deferred_done < all_.size() ? std::optional(all_[device.deferred_done++]) : std::nullopt;
}

void DeferredWork::forget(const void* host_address) {
  for (Deferred& work : all_)
    if (work.host_address == host_address)
      forget_work(work);
}

void DeferredWork::forget_within(HostRange gone) {
  for (Deferred& work : all_)
    if (std::any_of(work.memory.begin(), work.memory.end(), [&](HostRange used) { return used.overlaps(gone); }))
      forget_work(work);
}

} // namespace omptool

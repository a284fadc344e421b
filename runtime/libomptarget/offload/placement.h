// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the device of a region that names none: the default device, or, under OMPTOOL_DEVICE_POLICY=least-loaded, the
// one with the least to do ("Depending on the availability and load", offload-infrastructure-proposal.txt).
#pragma once

#include "data/table/row.h"
#include "devices/registry.h"
#include "process/environment.h"

#include <cstdint>
#include <memory>

namespace omptool {

// A region's part in what its device has to do, as long as it lives. Nothing but a number under OpenMP's own policy.
class Placement {
public:
  Placement() = default;
  Placement(std::int64_t device_id, const void* host_address, Rows rows) : device_id_(device_id) {
    if (environment().device_policy == DevicePolicy::kLeastLoaded) [[unlikely]]
      place(host_address, rows);
  }

  // As the region's call should have said.
  std::int64_t device_id() const { return device_id_; }

private:
  [[gnu::noinline, gnu::cold]] void place(const void* host_address, Rows rows);

  std::int64_t device_id_ = -1;
  struct CountOut {
    void operator()(Device* device) const { --device->regions; }
  };
  std::unique_ptr<Device, CountOut> device_; // counts this region
};

} // namespace omptool

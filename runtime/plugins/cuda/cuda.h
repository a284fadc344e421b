// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one instance of this plugin in a process, and the exported functions' way to it.
#pragma once

#include "common/calls.h"
#include "device.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace omptool::cuda {

// Never destroyed: threads may still run kernels while the process exits.
struct Cuda {
  Driver driver;
  std::vector<std::unique_ptr<Device>> devices;
  std::string reason; // for having none
  std::vector<int> capabilities() const;
};

// Null while nobody has asked for devices: to look at an image's bytes opens no driver.
Cuda* known_cuda();
// Opens the driver first. A child of fork() has no devices if its parent has used the driver, which says so, too.
Cuda& cuda();

[[gnu::noinline, gnu::cold]] void fail_for_device(const Cuda& all, std::int32_t device_id);

// Runs `body(device)`, of a device that may not be initialised; an exception is a failure with a reason, and so is a
// device that does not exist.
template <typename Body, typename Result>
Result of_device(std::int32_t device_id, Result failed, const Body& body) noexcept {
  return safely(failed, [&]() -> Result {
    Cuda& all = cuda();
    if (device_id < 0 || static_cast<std::size_t>(device_id) >= all.devices.size()) {
      fail_for_device(all, device_id);
      return failed;
    }
    return body(*all.devices[static_cast<std::size_t>(device_id)]);
  });
}

// The same, of a device that is initialised.
template <typename Body, typename Result>
Result guarded(std::int32_t device_id, Result failed, const Body& body) noexcept {
  return of_device(device_id, failed,
                   [&](Device& device) -> Result { return device.initialise() ? body(device) : failed; });
}

} // namespace omptool::cuda

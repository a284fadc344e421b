// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one instance of OpenCL in a process, and the exported functions' way to it.
#pragma once

#include "common/calls.h"
#include "device.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace omptool::opencl {

// Never destroyed: the drivers' threads may come here while the process exits.
struct Driver {
  Loader cl;
  std::string why_none; // or why some devices are not used
  plugin::Events events;
  Queue queue{events, cl};
  std::vector<std::unique_ptr<Device>> devices;
};

// Null before it is first asked for, and in a child of fork() whose parent had asked: no driver of OpenCL's can be
// used there.
extern std::atomic<Driver*> the_driver;
// Opens the loader and asks the drivers. Null, with last_error set: in such a child.
Driver* make_driver();

inline Driver* driver() {
  Driver* const known = the_driver.load(std::memory_order_acquire);
  return known ? known : make_driver();
}

std::int32_t count_devices(); // 0, with last_error set: none can be used

// The device, or null, with last_error set.
Device* device_of(std::int32_t device_id);

// Runs `body(device)` on a device that has started; an exception is a failure with a reason, and so is a device that
// does not exist, or does not start.
template <typename Body, typename Result>
Result guarded(std::int32_t device_id, Result failed, const Body& body) noexcept {
  return safely(failed, [&]() -> Result {
    Device* const device = device_of(device_id);
    return device && (device->has_started() || device->start() == 0) ? body(*device) : failed;
  });
}

// Runs `body(driver)`, of this process.
template <typename Body, typename Result> Result with_driver(Result failed, const Body& body) noexcept {
  return safely(failed, [&]() -> Result {
    Driver* const known = driver();
    return known ? body(*known) : failed;
  });
}

} // namespace omptool::opencl

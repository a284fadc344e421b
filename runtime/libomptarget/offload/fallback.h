// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the device that a call means, and does what is left to do where a region runs on the host instead (decision 1).
#pragma once

#include "data/table/row.h"
#include "devices/registry.h"
#include "process/environment.h"
#include "process/libomp.h"

#include <climits>
#include <cstdint>
#include <memory>
#include <string>

namespace omptool {

constexpr std::int32_t kOnHost = -1; // what LLVM's runtime returns, too
constexpr std::int64_t kEveryDevice = -2;
constexpr std::int64_t kUsedDevices = -3;

inline bool disabled() {
  return environment().policy == OffloadPolicy::kDisabled;
}
inline bool mandatory() {
  return environment().policy == OffloadPolicy::kMandatory;
}

// Ends the program where data has to be mapped on a device, and cannot be.
void insist_on_data(const std::string& reason);

// A device that a call can use, or why not. Neither: the program asked for the host.
struct Selected {
  Device* device = nullptr;
  std::string reason;
};
// Of a number other than -2 and -3.
Selected select(std::int64_t device_id);

// The device, if nothing is left to do before it can be used; null: select() knows. Nobody prepares a device
// under OMP_TARGET_OFFLOAD=DISABLED, so who has got one need not ask.
[[gnu::always_inline]] inline Device* ready_device(Registry* registry, std::int64_t device_id) {
  const std::int64_t number = device_number(device_id);
  Device* const device =
      registry && number >= 0 && number <= INT_MAX ? registry->device(static_cast<int>(number)) : nullptr;
  return device && registry->is_prepared(*device) ? device : nullptr;
}

// Null: no library has it.
std::shared_ptr<Kernel> kernel_of(const void* host_address);
// Returns how messages name a region; `kernel` is null where no library has it.
std::string name_of(const void* host_address, const Kernel* kernel);
// The same in a message: "work:5".
std::string title_of(const void* host_address, const Kernel* kernel);
// Gives the host what the device has of the region's data.
void copy_to_host(Device& device, const void* host_address, const Kernel* kernel, Rows rows);
// Reports to listeners that the region runs on the host.
void report_on_host(const void* host_address, const Kernel* kernel, const std::string& reason);
// Reports a region that is not to run on a device: the program or its environment asks for the host. Returns what its
// call returns.
[[gnu::cold]] std::int32_t stay_on_host(const void* host_address, const char* reason);
// Says why the region runs on the host, or ends the program where it must not. Returns what its call returns.
std::int32_t fall_back(const void* host_address, const Kernel* kernel, const std::string& reason);
// Copies the data to the host, and says why the region runs there. Returns what its call returns.
[[gnu::cold]] std::int32_t fall_back_from(Device& device, const void* host_address, const Kernel* kernel, Rows rows,
                                          const std::string& reason);

} // namespace omptool

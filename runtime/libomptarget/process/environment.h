// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The environment variables that the runtime reads, once, at first use. A value that cannot be used
// gets one line on stderr and the default. Programs that run with raised privileges (AT_SECURE)
// ignore every OMPTOOL_* variable.
#pragma once

#include "process/per_process.h"

#include <string>
#include <vector>

namespace omptool {

enum class OffloadPolicy { kDefault, kDisabled, kMandatory };
enum class DevicePolicy { kOpenMP, kLeastLoaded };

struct Environment {
  Environment();                                      // reads it
  OffloadPolicy policy = OffloadPolicy::kDefault;     // OMP_TARGET_OFFLOAD, or OMPTOOL_MANDATORY=1
  bool must_offload = false;                          // OMPTOOL_MANDATORY=1
  int default_device = 0;                             // OMP_DEFAULT_DEVICE
  DevicePolicy device_policy = DevicePolicy::kOpenMP; // OMPTOOL_DEVICE_POLICY, of regions that name no device
  bool quiet = false;                                 // OMPTOOL_QUIET=1
  unsigned in_flight = 64;                            // OMPTOOL_HOST_IN_FLIGHT, kernels that run at once, at most
  unsigned kernel_timeout = 0;                        // OMPTOOL_KERNEL_TIMEOUT, in seconds; 0: no limit
  std::vector<std::string> plugin_path;               // OMPTOOL_PLUGIN_PATH, searched before the library's own folder
  std::vector<std::string> plugins;                   // OMPTOOL_PLUGINS; empty: every plugin found
};

inline const Environment& environment() noexcept {
  return PerProcess<const Environment>::get();
}

} // namespace omptool

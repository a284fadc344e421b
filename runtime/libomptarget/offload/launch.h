// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "offload/offload.h"

#include <string>

namespace omptool {

// Maps, runs the resolved kernel, unmaps. Returns false, and why, if the region has to run on the host, with nothing
// left mapped by this call. Ends the program when the device fails once the kernel is running.
[[nodiscard]] bool launch(Device& device, const Kernel& kernel, const Resolved& there, Rows rows,
                          const LaunchShape& shape, std::string& reason);

} // namespace omptool

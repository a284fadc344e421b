// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the kernel's description of this machine's processor.
#pragma once

#include <string>

namespace omptool::host {

// As the kernel calls it, or "".
std::string processor_name();
// Returns every property that code made for this processor may depend on.
std::string processor_identity();

} // namespace omptool::host

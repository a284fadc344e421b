// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernel says of this machine's processor.
#pragma once

#include <string>

namespace omptool::host {

// As the kernel calls it, or "".
std::string processor_name();
// What code made for it may depend on.
std::string processor_identity();

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the kernel's description of this machine's processor.
#pragma once

#include <istream>
#include <string>

namespace omptool::host {

// Returns the name that the text of /proc/cpuinfo has for the processor, or "".
std::string processor_name(std::istream& cpuinfo);
// Returns every property in that text that code made for this processor may depend on.
std::string processor_identity(std::istream& cpuinfo);

// Return the name and the properties of this machine's processor. The system needs 50 µs to produce the text, so it is
// read once.
const std::string& processor_name();
const std::string& processor_identity();

} // namespace omptool::host

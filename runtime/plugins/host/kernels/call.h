// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "machine.h"

#include <cstddef>

namespace omptool::host {

// Calls `kernel` with `count` pointer-sized arguments, in the registers and stack slots of the machine's C ABI.
// `arguments` has room for all registers.
using machine::kRegisterArguments;
extern "C" void omptool_host_call(void* kernel, void* const* arguments, std::size_t count) noexcept;

} // namespace omptool::host

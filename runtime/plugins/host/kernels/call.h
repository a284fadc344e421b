// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "machine.h"

#include <cstddef>

namespace omptool::host {

// Calls `kernel` with `count` pointer-sized arguments, which the C compiler that made it expects in
// registers and on the stack as the machine's ABI says. `arguments` has room for all registers.
using machine::kRegisterArguments;
extern "C" void omptool_host_call(void* kernel, void* const* arguments, std::size_t count) noexcept;

} // namespace omptool::host

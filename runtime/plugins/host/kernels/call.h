// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

namespace omptool::host {

// Calls `kernel` with `count` pointer-sized arguments, which the C compiler that made it expects in
// registers and on the stack as the System V ABI says. `arguments` has room for at least six.
constexpr std::size_t kRegisterArguments = 6;
extern "C" void omptool_host_call(void* kernel, void* const* arguments, std::size_t count) noexcept;

} // namespace omptool::host

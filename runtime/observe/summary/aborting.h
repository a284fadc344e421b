// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool::observe {

// Calls the function before SIGABRT ends the process: by abort(), by the runtime, or from outside. The process then
// ends as it would have. A handler that the program sets later replaces this one.
void call_before_abort(void (*function)());

} // namespace omptool::observe

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace omptool::host {

// Installs handlers that name the kernel at fault on stderr for SIGSEGV, SIGBUS, SIGILL and SIGFPE. The signal then has
// its usual effect. Signals that the program handles or ignores stay with the program.
void name_faulting_kernels();

// Appends this text to lines about SIGILL in the image loaded at `base`. An empty text removes it.
void explain_illegal_instructions(const void* base, const std::string& text);

} // namespace omptool::host

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace omptool::host {

// From now on a line on stderr names the kernel that a SIGSEGV, SIGBUS, SIGILL or SIGFPE ends; the signal then does
// what it did. A signal that the program handles, or ignores, is left alone.
void name_faulting_kernels();

// Lines about SIGILL in code of the image that is loaded at `base` end by this text; by none where it is "".
void explain_illegal_instructions(const void* base, const std::string& text);

} // namespace omptool::host

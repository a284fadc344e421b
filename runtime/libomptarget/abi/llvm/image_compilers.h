// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which compilers had a part in an image, by what they leave in its section .comment.
#pragma once

#include "bytes.h"

#include <string_view>

namespace omptool::llvm {

// The strings of the section .comment of an ELF64 image, one after the other; empty where there is none.
// The bytes may be anything: every offset and count is checked against them.
std::string_view compilers_of(Bytes image);

// Whether clang 15 to 17 compiled some of it, and 18 none.
bool is_before_18(std::string_view compilers);

} // namespace omptool::llvm

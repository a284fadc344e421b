// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM bitcode, as far as a plugin asks: that it is some, and for which target. The bytes may be anything: every
// offset and count is checked against them.
#pragma once

#include "bytes.h"

#include <string>

namespace omptool::compile {

// By how it begins, in its wrapper or without.
bool is_bitcode(Bytes image);

// The target triple that the module names; "" where it names none, or is damaged before it does.
std::string triple_of(Bytes image);

} // namespace omptool::compile

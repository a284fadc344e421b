// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM bitcode, as far as a plugin asks: that it is some, and for which target. The bytes may be anything: every
// offset and count is checked against them.
#pragma once

#include "bytes.h"

#include <string>

namespace omptool::compile {

// Returns whether the image begins as bitcode does, with or without its wrapper.
bool is_bitcode(Bytes image);

// Returns the module's target triple, or "" if the module names none, or is damaged in front of it.
std::string triple_of(Bytes image);

} // namespace omptool::compile

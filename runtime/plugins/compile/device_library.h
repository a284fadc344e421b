// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The libraries that `omptool lower` links in without being told to: what it makes depends on them.
#pragma once

#include <string>

namespace omptool::compile {

// A hash of every file that the helper may take for this triple, in its order; "" where it takes none.
std::string identity_of_libraries(const std::string& triple, const std::string& helper);

} // namespace omptool::compile

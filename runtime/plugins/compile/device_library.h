// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries that `omptool lower` links by default, so its output depends on them.
#pragma once

#include <string>

namespace omptool::compile {

// Returns a hash of every file that the helper may link for this triple, in the helper's order, or "" if it links none.
std::string identity_of_libraries(const std::string& triple, const std::string& helper);

} // namespace omptool::compile

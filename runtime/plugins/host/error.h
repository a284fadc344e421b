// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace omptool::host {

// Why the last call on this thread failed; __tgt_rtl_last_error hands it out.
std::string& last_error();

// Remembers the reason; returns what a failing int32_t call returns.
inline int fail(std::string reason) {
  last_error() = std::move(reason);
  return 1;
}

} // namespace omptool::host

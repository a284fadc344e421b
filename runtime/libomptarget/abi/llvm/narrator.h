// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints what LIBOMPTARGET_INFO asks for: a listener to the constructs of every ABI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptool::llvm {

// Takes LIBOMPTARGET_INFO over, once; __tgt_set_info_flag may have been first.
void read_info();
void set_info(std::uint32_t bits);

// Rows up to `count` of the construct that this thread is in come from what the program calls `declared`.
void name_rows(std::size_t count, const char* declared);

} // namespace omptool::llvm

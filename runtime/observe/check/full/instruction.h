// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the instruction that faulted.
#pragma once

#include <cstdint>

namespace omptool::check {

// Returns whether an instruction that writes to memory uses what was there, as `a += b` in one instruction does. An
// exchange does not count: compilers use it as a store.
bool uses_what_it_writes(const std::uint8_t* code);

} // namespace omptool::check

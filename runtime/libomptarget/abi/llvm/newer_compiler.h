// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of compilers that came after this library: it guesses nothing, and its messages name the cure.
#pragma once

#include "generations.h"

#include <iterator>
#include <string>

namespace omptool::llvm {

inline constexpr const Generation& kNewestGeneration = std::end(kGenerations)[-1];

// The same fault with the clang that compiled the executable or library around `address`, as far as it says so, and
// what to do.
std::string of_newer_compiler(const std::string& fault, const void* address);

// Returns whether only clang 23 and later compiled the executable or library around `address`, by `.comment`.
bool is_surely_of_23(const void* address);

} // namespace omptool::llvm

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shortens demangled names that have a lambda in them, as every kernel of RAJA's and Kokkos' templates has. The
// functions remove characters in place, and return the size of what is left: signal handlers call them. Names of more
// than 4096 characters stay as they are. The twin of this file is packager/naming/lambdas.py.
#pragma once

#include <cstddef>
#include <span>

namespace omptool {

// Removes the parameters of functions that are scopes, and those of lambdas: "f(int)::{lambda(int)#1}" becomes
// "f::{lambda#1}".
std::size_t remove_types_of_scopes(std::span<char> name) noexcept;

// Removes all scopes but the innermost function from the lambdas in template arguments:
// "forall<int, a::f<double>::{lambda#1}>" becomes "forall<int, f::{lambda#1}>".
std::size_t remove_scopes_of_lambdas(std::span<char> name) noexcept;

} // namespace omptool

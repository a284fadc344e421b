// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace omptool {

// Returns the function, without types and scopes of lambdas, and the line in a kernel's name as clang writes it
// ("__omp_offloading_801_2f_work_l5": "work:5"); any other name as it is. Its twin is packager/naming/region_names.py.
std::string region_name(std::string_view kernel);

// Returns the names of several kernels by region_name(); where two would be equal, with the scopes of lambdas, and then
// with types. Kernels whose names are equal with types, too, keep their own: static functions of two files have such
// names.
std::map<std::string, std::string> region_names(const std::set<std::string>& kernels);

// Returns a kernel's name by region_name() without allocating, for signal handlers. The name is stored in `memory`, and
// cut off if it is too long. A mangled function of 256 or more characters stays mangled.
std::string_view region_name(std::string_view kernel, std::span<char> memory) noexcept;

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Identifies the compilers of an image, an executable or a library by its section .comment. For compilers newer than
// this library it makes no guess, and its messages name the cure.
#pragma once

#include "bytes.h"
#include "generations.h"
#include "rtl/passing.h"

#include <iterator>
#include <string>
#include <string_view>

namespace omptool::llvm {

// Returns the strings of the section .comment of an ELF64 image, one after the other; empty without that section.
// The bytes may be anything: every offset and count is checked against them.
std::string_view compilers_of(Bytes image);

// The clangs among them, by major version; 0: none.
struct Clangs {
  int oldest = 0, newest = 0;
  std::string version = {}; // the newest one's, in full
  bool any_18 = false;
  // Name of the newest compiler for messages, or "".
  std::string name() const { return newest ? "clang " + version : std::string(); }
  // Returns whether clang 17 or earlier compiled some kernels and clang 18 none: such kernels of calls with version 2
  // have no environment parameter.
  bool is_before_18() const { return 0 < oldest && oldest < 18 && !any_18; }
};
Clangs clangs_in(std::string_view compilers);

// Returns how the kernels are called, as far as all of their compilers agree.
KernelForm form_of(const Clangs& clangs);

inline constexpr const Generation& kNewestGeneration = std::end(kGenerations)[-1];

// Returns the fault with the clang that compiled the executable or library around `address`, if that is known, and
// what to do.
std::string of_newer_compiler(const std::string& fault, const void* address);

// Returns whether only clang 23 and later compiled the executable or library around `address`, by `.comment`.
bool is_surely_of_23(const void* address);

} // namespace omptool::llvm

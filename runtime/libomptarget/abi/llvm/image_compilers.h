// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names the compilers that had a part in an image, by what they leave in its section .comment.
#pragma once

#include "bytes.h"
#include "rtl/passing.h"

#include <string>
#include <string_view>

namespace omptool::llvm {

// The strings of the section .comment of an ELF64 image, one after the other; empty where there is none.
// The bytes may be anything: every offset and count is checked against them.
std::string_view compilers_of(Bytes image);

// The clangs among them, by major version; 0: none.
struct Clangs {
  int oldest = 0, newest = 0;
  std::string version = {}; // the newest one's, in full
  bool any_18 = false;
};
Clangs clangs_in(std::string_view compilers);
// Returns the newest one's name, for messages; "" without one.
std::string name_of(const Clangs& clangs);

// Returns how the kernels are called, as far as all of their compilers agree.
KernelForm form_of(const Clangs& clangs);
// Returns whether kernels of calls with version 2 take no environment: a clang up to 17 compiled some, and 18 none.
bool is_before_18(const Clangs& clangs);

} // namespace omptool::llvm

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the lines about a call that LLVM's runtime prints (abi-facts.md, 10.1 and 10.2).
#pragma once

#include "abi/llvm/rows.h"
#include "data/table/mapping_fault.h"

#include <cstdint>

namespace omptool::llvm {

// A call by the program.
struct Call {
  observe::Call reported;
  std::int64_t device; // as the program gives it
  Arrays arrays;
};

void tell_arguments(int device, const Call& call);

// The program broke a rule of data mapping.
[[noreturn]] void die_of(const MappingFault& fault, const Call& call);

} // namespace omptool::llvm

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the arguments of a call by the program, and why a call ends it, in the words of LLVM's runtime (abi-facts.md,
// 10.1 and 10.2).
#pragma once

#include "abi/llvm/rows.h"
#include "data/table/mapping_fault.h"
#include "observe/events/sink.h"

namespace omptool::llvm {

struct Call {
  observe::Call reported;
  std::int64_t device; // the program's number
  Arrays arrays;
};

// Prints them as LIBOMPTARGET_INFO asks for.
void tell_arguments(int device, const Call& call);

// Ends the program, which broke a rule of data mapping.
[[noreturn]] void die_of(const MappingFault& fault, const Call& call);

} // namespace omptool::llvm

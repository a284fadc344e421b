// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the lines about a call that LLVM's runtime prints (abi-facts.md, 10.1 and 10.2).
#pragma once

#include "abi/llvm/rows.h"
#include "abi/llvm/source.h"
#include "abi/reported_call.h"
#include "data/table/mapping_fault.h"

#include <cstdint>

namespace omptool::llvm {

enum class Waiting { kWaits, kNowait };

// A call by the program.
struct Call {
  const char* name;
  Action action;
  Waiting waiting;
  const Location* where; // may be null
  std::int64_t device;   // -1: the default device
  Arrays arrays;
  const void* caller = nullptr;
  std::uint32_t teams = 1; // of a region: how many it asks for; 0: it does not say
  const void* region = nullptr;
};

// Announces a call for a device while it lasts, and tells its arguments where LIBOMPTARGET_INFO asks for them.
class Told {
public:
  explicit Told(const Call& call);

private:
  const ReportedCall reported_;
};

// The program broke a rule of data mapping.
[[noreturn]] void die_of(const MappingFault& fault, const Call& call);

} // namespace omptool::llvm

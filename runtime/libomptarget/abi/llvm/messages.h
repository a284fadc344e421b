// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM's runtime says about a call, and this one too (abi-facts.md, 10.1 and 10.2).
#pragma once

#include "abi/llvm/call_log.h"
#include "abi/llvm/rows.h"
#include "abi/llvm/source.h"
#include "data/mapping_fault.h"

#include <cstdint>
#include <optional>

namespace omptool::llvm {

enum class Waiting { kWaits, kNowait };

// A call by the program.
struct Call {
  const char* name;
  Construct construct;
  Waiting waiting;
  const Location* where; // may be null
  std::int64_t device;   // -1: the default device
  Arrays arrays;
  const void* caller = nullptr;
  std::uint32_t teams = 1; // of a region: how many it asks for; 0: it does not say
};

// The number of the device, or -1: the host, or none.
int device_of(const Call& call);

// Tells what LIBOMPTARGET_INFO asks for while a call lasts.
class Narrated {
public:
  explicit Narrated(const Call& call);
  ~Narrated();
  Narrated(const Narrated&) = delete;
  Narrated& operator=(const Narrated&) = delete;

private:
  const Call& call_;
  const int faults_before_;
  std::optional<CallLog> log_; // none: the host's turn, about which there is nothing to tell
};

// The program broke a rule of data mapping.
[[noreturn]] void die_of(const MappingFault& fault, const Call& call);

// The devices' tables when everything is over.
void tell_tables_at_end();

} // namespace omptool::llvm

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that breaks a rule of data mapping ends (decision 2). The core throws this, because only
// the ABI whose call it was knows what else its users expect to read.
#pragma once

#include "data/table/object.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace omptool {

struct MappingFault : std::runtime_error {
  enum class Kind { kExtension, kAbsent };
  MappingFault(Kind its_kind, const std::string& message, std::string earlier = {})
      : std::runtime_error(message), kind(its_kind), before(std::move(earlier)) {}
  Kind kind;
  std::string before; // another message, which comes first; or ""
};

// OpenMP forbids mapping more of an object than is present; users know LLVM's words for it.
// An object that had to be present is said to be absent, too.
MappingFault extension(HostRange wanted, const Object& present, bool had_to_be_present = false);
// `modifier` is "map type", or "motion" in an update.
MappingFault absence(HostRange wanted, const char* modifier = "map type");

} // namespace omptool

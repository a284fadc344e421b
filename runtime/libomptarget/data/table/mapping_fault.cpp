// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/mapping_fault.h"

#include <cstdio>

namespace omptool {

MappingFault extension(HostRange wanted, const Mapping& present, bool had_to_be_present) {
  char text[192];
  std::snprintf(
      text, sizeof text,
      "explicit extension not allowed: host address specified is 0x%016lx (%lld bytes), but device allocation "
      "maps to host at 0x%016lx (%lld bytes)",
      wanted.begin, static_cast<long long>(wanted.size()), present.host.begin,
      static_cast<long long>(present.host.size()));
  if (had_to_be_present)
    return {MappingFault::Kind::kAbsent, absence(wanted).what(), text};
  return {MappingFault::Kind::kExtension, text};
}

MappingFault absence(HostRange wanted, const char* modifier) {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "device mapping required by 'present' %s modifier does not exist for host address 0x%016lx (%lld bytes)",
      modifier, wanted.begin, static_cast<long long>(wanted.size()));
  return {MappingFault::Kind::kAbsent, text};
}

} // namespace omptool

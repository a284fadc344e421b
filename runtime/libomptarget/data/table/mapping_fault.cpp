// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/mapping_fault.h"

#include "observe/events/sink.h"

#include <cstdio>

namespace omptool {
namespace {

void report(HostRange wanted, const Object* present) {
  observe::RuleBroken broken{observe::Within::current(), wanted, {}, false};
  if (present) {
    broken.present = present->host();
    broken.is_counted = !present->is_infinite();
  }
  observe::report(broken);
}

MappingFault absent(HostRange wanted, const char* modifier, std::string before) {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "device mapping required by 'present' %s modifier does not exist for host address 0x%016lx (%lld bytes)",
      modifier, wanted.begin, static_cast<long long>(wanted.size()));
  return {MappingFault::Kind::kAbsent, text, std::move(before)};
}

} // namespace

MappingFault extension(HostRange wanted, const Object& present, bool had_to_be_present) {
  report(wanted, &present);
  char text[192];
  std::snprintf(
      text, sizeof text,
      "explicit extension not allowed: host address specified is 0x%016lx (%lld bytes), but device allocation "
      "maps to host at 0x%016lx (%lld bytes)",
      wanted.begin, static_cast<long long>(wanted.size()), present.host().begin,
      static_cast<long long>(present.host().size()));
  if (had_to_be_present)
    return absent(wanted, "map type", text);
  return {MappingFault::Kind::kExtension, text};
}

MappingFault absence(HostRange wanted, const char* modifier) {
  report(wanted, nullptr);
  return absent(wanted, modifier, {});
}

} // namespace omptool

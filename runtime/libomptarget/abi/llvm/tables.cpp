// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/tables.h"

#include "abi/llvm/info.h"
#include "abi/llvm/source.h"
#include "offload/offload.h"
#include "process/message.h"

namespace omptool::llvm {
namespace {

std::string describe_object(int device, const MappedObject& object) {
  const std::string known = object.name.empty() ? DeclaredNames::of(device, object.host) : object.name;
  const Place place = known.empty() ? Place{} : place_of(known.c_str());
  const std::string count = object.infinite ? "INF" : std::to_string(object.references);
  return line_about(device, "%s %s %-8lld %-11s %-12lld %s at %s", hex(object.host.begin).c_str(),
                    hex(object.device).c_str(), static_cast<long long>(object.host.size()), count.c_str(),
                    static_cast<long long>(object.holds), place.name.c_str(), place.text().c_str());
}

} // namespace

std::string describe_tables(const std::string& place) {
  std::string text;
  for (int number = 0; number < number_of_devices(); ++number) {
    Device& device = *Registry::current()->device(number);
    const auto objects = device.data.table.objects();
    if (objects.empty()) {
      text += line_about(number, "OpenMP Host-Device pointer mappings table empty");
      continue;
    }
    text += line_about(number, "OpenMP Host-Device pointer mappings after block at %s:", place.c_str());
    text += line_about(number, "%-18s %-18s %s %s %s %s", "Host Ptr", "Target Ptr", "Size (B)", "DynRefCount",
                       "HoldRefCount", "Declaration");
    for (const auto& object : objects)
      text += describe_object(number, object);
  }
  return text;
}

void tell_tables(const std::string& place) {
  const std::string text = describe_tables(place);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    tell("", "%s", text.substr(at, end - at).c_str());
    at = end + 1;
  }
}

} // namespace omptool::llvm

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/info/info.h"

#include "observe/events/source.h"
#include "offload/offload.h"
#include "process/message.h"
#include "process/per_process.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

namespace omptool::info {
namespace {

// Names by device and by the object's host address.
struct Names {
  std::mutex mutex;
  std::map<std::pair<int, std::uintptr_t>, std::string> declared;
};

std::string line_about(int device, const std::string& text) {
  return "omptarget device " + std::to_string(device) + " info: " + text;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string describe_object(int device, const MappedObject& object) {
  const Place place = declared_place(device, object.host, object.name);
  const std::string count = object.infinite ? "INF" : std::to_string(object.references);
  return hex(object.host.begin) + ' ' + hex(object.device) + ' ' + padded(std::to_string(object.host.size()), 8) + ' ' +
         padded(count, 11) + ' ' + padded(std::to_string(object.holds), 12) + ' ' + place.name + " at " + place.text();
}

Place place_in(std::string_view name, std::string_view path, std::string_view line, std::string_view column) {
  const std::string_view file = path.substr(path.rfind('/') + 1); // npos + 1 is 0
  return {std::string(name), std::string(file), std::string(line), std::string(column)};
}

} // namespace

void inform(int device, const std::string& text) {
  tell("", "%s", line_about(device, text).c_str());
}

std::string hex(std::uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016lx", static_cast<unsigned long>(address));
  return text;
}

Place place_of_construct(const char* source) {
  if (!source)
    return {};
  const auto [file, function, line, column] = observe::parts_of_construct(source);
  return place_in(function, file, line, column);
}

Place place_of(const char* mapped) {
  if (!mapped)
    return {};
  if (!std::strchr(mapped, ';'))
    return {mapped, "unknown", "0", "0"};
  const auto [name, file, line, column] = observe::parts_of_variable(mapped);
  return place_in(name, file, line, column);
}

void keep_declared(int device, HostRange object, const char* declared) {
  Names& names = PerProcess<Names>::get();
  const std::lock_guard lock(names.mutex);
  if (declared)
    names.declared[{device, object.begin}] = declared;
  else
    names.declared.erase({device, object.begin});
}

Place declared_place(int device, const std::optional<HostRange>& object, const std::string& global) {
  if (!global.empty() || !object)
    return global.empty() ? Place{} : place_of(global.c_str());
  Names& names = PerProcess<Names>::get();
  const std::lock_guard lock(names.mutex);
  const auto at = names.declared.find({device, object->begin});
  return at == names.declared.end() || at->second.empty() ? Place{} : place_of(at->second.c_str());
}

std::vector<std::string> describe_tables(const std::string& place) {
  std::vector<std::string> lines;
  for (int number = 0; number < number_of_devices(); ++number) {
    const std::vector<MappedObject> objects = Registry::current()->device(number)->data.presence.objects();
    if (objects.empty()) {
      lines.push_back(line_about(number, "OpenMP Host-Device pointer mappings table empty"));
      continue;
    }
    lines.push_back(line_about(number, "OpenMP Host-Device pointer mappings after block at " + place + ":"));
    lines.push_back(
        line_about(number, "Host Ptr           Target Ptr         Size (B) DynRefCount HoldRefCount Declaration"));
    for (const MappedObject& object : objects)
      lines.push_back(line_about(number, describe_object(number, object)));
  }
  return lines;
}

void tell_tables(const std::string& place) {
  for (const std::string& line : describe_tables(place))
    tell("", "%s", line.c_str());
}

} // namespace omptool::info

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/info.h"

#include "observe/events/source.h"
#include "offload/offload.h"
#include "process/per_process.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

namespace omptool::llvm {
namespace {

// By device and where the object begins.
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

constexpr const char* kError = "omptarget error: ";

// LLVM's titles, "being" included.
std::string title_of(const observe::Call& call) {
  if (call.action == Action::kRegion)
    return "Entering OpenMP kernel";
  std::string title = "Updating data within the OpenMP data region with update";
  if (call.action == Action::kEnterData)
    title = "Entering OpenMP data region with being";
  else if (call.action == Action::kExitData)
    title = "Exiting OpenMP data region with end";
  return title + (call.nowait ? "_nowait_mapper" : "_mapper");
}

const char* kind_of(std::int64_t type, std::int64_t size) {
  if (type & kTypeAttach)
    return type & kTypeAlways ? "attach:always" : "attach";
  if ((type & kTypeTo) && (type & kTypeFrom))
    return "tofrom";
  if (type & (kTypeTo | kTypeFrom))
    return type & kTypeTo ? "to" : "from";
  if (type & kTypePrivate)
    return "private";
  if (type & kTypeLiteral)
    return "firstprivate";
  return size != 0 ? "alloc" : "use_address";
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
  const auto [file, function, line, column] = observe::parts_of(source);
  return place_in(function, file, line, column);
}

Place place_of(const char* mapped) {
  if (!mapped)
    return {};
  if (!std::strchr(mapped, ';'))
    return {mapped, "unknown", "0", "0"};
  const auto [name, file, line, column] = observe::parts_of(mapped);
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
    lines.push_back(line_about(number, padded("Host Ptr", 18) + ' ' + padded("Target Ptr", 18) +
                                           " Size (B) DynRefCount HoldRefCount Declaration"));
    for (const MappedObject& object : objects)
      lines.push_back(line_about(number, describe_object(number, object)));
  }
  return lines;
}

void tell_tables(const std::string& place) {
  for (const std::string& line : describe_tables(place))
    tell("", "%s", line.c_str());
}

void tell_arguments(int device, const Call& call) {
  const Arrays& all = call.arrays;
  inform(device, title_of(call.reported) + " at " + place_of_construct(call.reported.source).text() + " with " +
                     std::to_string(all.count) + " arguments:");
  for (std::size_t i = 0; all.size && all.type && i < all.count; ++i) {
    const char* const name = all.names ? static_cast<const char*>(all.names[i]) : nullptr;
    inform(device, std::string(kind_of(all.type[i], all.size[i])) + "(" + place_of(name).name + ")[" +
                       std::to_string(all.size[i]) + "] " + (all.type[i] & kTypeImplicit ? "(implicit)" : ""));
  }
}

void register_library(const void* descriptor, LibraryReader read) noexcept {
  guarded("__tgt_register_lib", [&] {
    read_info();
    if (descriptor)
      Registry::obtain().add(descriptor, read);
  });
}

void unregister_library(const void* descriptor) noexcept {
  guarded("__tgt_unregister_lib", [&] {
    Registry* const registry = Registry::current();
    if (!registry || !descriptor)
      return;
    if (informs(kInfoTable) && registry->is_last(descriptor))
      tell_tables();
    registry->remove(descriptor);
  });
}

void die_of(const MappingFault& fault, const Call& call) {
  const bool maps_in = call.reported.action == Action::kEnterData || call.reported.action == Action::kRegion;
  for (const char* const message : {fault.before.c_str(), fault.what()})
    if (*message)
      tell("omptarget message: ", "%s", message);
  if (maps_in)
    tell(kError, "Call to getTargetPointer returned null pointer (%s).",
         fault.kind == MappingFault::Kind::kAbsent ? "'present' map type modifier"
                                                   : "device failure or illegal mapping");
  if (call.reported.action == Action::kRegion) {
    tell(kError, "Call to targetDataBegin failed, abort target.");
    tell(kError, "Failed to process data before launching the kernel.");
  }
  const Place place = place_of_construct(call.reported.source);
  if (informs(kInfoTable))
    tell_tables(place.text());
  else
    tell(kError, "Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.");
  if (!place.known())
    tell(kError, "Source location information not present. Compile with -g or -gline-tables-only.");
  die_at(place.known() ? place.text().c_str() : "", 1, "failure of target construct while offloading is mandatory");
}

} // namespace omptool::llvm

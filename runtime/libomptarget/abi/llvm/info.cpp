// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/info.h"

#include "abi/llvm/source.h"
#include "process/message.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

namespace omptool::llvm {

namespace {

// Never destroyed: threads may still map while the process exits.
struct Names {
  std::mutex mutex;
  std::map<std::pair<int, std::uintptr_t>, std::string> declared;
};
Names& names() {
  static Names* const all = new Names;
  return *all;
}

std::string formatted(int device, const char* format, std::va_list arguments) {
  char text[1024];
  const int start = std::snprintf(text, sizeof text, "omptarget device %d info: ", device);
  std::vsnprintf(text + start, sizeof text - static_cast<std::size_t>(start), format, arguments);
  return text;
}

} // namespace

void inform(int device, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const std::string text = formatted(device, format, arguments);
  va_end(arguments);
  tell("", "%s", text.c_str());
}

std::string line_about(int device, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::string text = formatted(device, format, arguments);
  va_end(arguments);
  return text + '\n';
}

std::string hex(std::uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016lx", static_cast<unsigned long>(address));
  return text;
}

std::string describe(const observe::ObjectCopied& copied) {
  const std::string known =
      copied.name.empty() && copied.object ? DeclaredNames::of(copied.device, *copied.object) : copied.name;
  const std::string name = place_of(known.empty() ? nullptr : known.c_str()).name;
  const std::string host = "HstPtr=" + hex(copied.host), there = "TgtPtr=" + hex(copied.there);
  return std::string("Copying data from ") + (copied.to_device ? "host to device, " : "device to host, ") +
         (copied.to_device ? host + ", " + there : there + ", " + host) + ", Size=" + std::to_string(copied.size) +
         ", Name=" + name;
}

void DeclaredNames::set(int device, HostRange object, const char* declared) {
  const std::lock_guard lock(names().mutex);
  if (declared)
    names().declared[{device, object.begin}] = declared;
  else
    names().declared.erase({device, object.begin});
}

std::string DeclaredNames::of(int device, HostRange host) {
  const std::lock_guard lock(names().mutex);
  const auto at = names().declared.find({device, host.begin});
  return at == names().declared.end() ? std::string() : at->second;
}

} // namespace omptool::llvm

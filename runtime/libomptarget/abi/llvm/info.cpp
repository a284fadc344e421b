// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "abi/llvm/info.h"

#include "process/message.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

namespace omptool {

namespace {

std::atomic<bool> info_known{false};

void put(std::uint32_t bits) {
  watched.fetch_and(~kWatchInfo);
  watched.fetch_or(bits);
}

// Never destroyed: threads may still map while the process exits.
struct Names {
  std::mutex mutex;
  std::map<std::pair<int, std::uintptr_t>, std::string> declared;
};
Names& names() {
  static Names* const all = new Names;
  return *all;
}

std::string line_about(int device, const char* format, std::va_list arguments) {
  char text[1024];
  const int start = std::snprintf(text, sizeof text, "omptarget device %d info: ", device);
  std::vsnprintf(text + start, sizeof text - static_cast<std::size_t>(start), format, arguments);
  return text;
}

} // namespace

void read_info() {
  if (info_known.exchange(true))
    return;
  const char* value = ::secure_getenv("LIBOMPTARGET_INFO");
  if (!value || !*value)
    return;
  char* end = nullptr;
  errno = 0;
  const long long bits = std::strtoll(value, &end, 0);
  if (errno != 0 || *end != '\0' || bits < -1 || bits > UINT32_MAX)
    say("LIBOMPTARGET_INFO=%s is not a value for it; nothing is told", value);
  else
    put(static_cast<std::uint32_t>(bits));
}

void set_info(std::uint32_t bits) {
  info_known = true;
  put(bits);
}

void inform(int device, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const std::string text = line_about(device, format, arguments);
  va_end(arguments);
  tell("", "%s", text.c_str());
}

std::string line_about(int device, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::string text = line_about(device, format, arguments);
  va_end(arguments);
  return text + '\n';
}

std::string hex(std::uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016lx", static_cast<unsigned long>(address));
  return text;
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

} // namespace omptool

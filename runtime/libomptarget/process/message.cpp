// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/message.h"

#include "process/environment.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace omptool {
namespace {

void write_line(const char* prefix, const char* format, std::va_list arguments) noexcept {
  char line[1024];
  const int start = std::snprintf(line, sizeof line, "%s", prefix);
  const int rest = std::vsnprintf(line + start, sizeof line - static_cast<std::size_t>(start), format, arguments);
  const std::size_t wanted = static_cast<std::size_t>(start) + static_cast<std::size_t>(std::max(rest, 0));
  const std::size_t length = std::min(wanted, sizeof line - 1);
  line[length] = '\n'; // over the terminating zero
  // Nobody is left to tell when stderr cannot be written.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, length + 1);
}

} // namespace

void say(const char* format, ...) noexcept {
  if (environment().quiet)
    return;
  std::va_list arguments;
  va_start(arguments, format);
  write_line("omptarget: ", format, arguments);
  va_end(arguments);
}

void tell(const char* prefix, const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  write_line(prefix, format, arguments);
  va_end(arguments);
}

void die(const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  write_line("omptarget fatal error: ", format, arguments);
  va_end(arguments);
  std::abort();
}

void die_at(const char* place, int number, const char* format, ...) noexcept {
  char prefix[256];
  std::snprintf(prefix, sizeof prefix, "%s%somptarget fatal error %d: ", place, *place ? ": " : "", number);
  std::va_list arguments;
  va_start(arguments, format);
  write_line(prefix, format, arguments);
  va_end(arguments);
  std::abort();
}

} // namespace omptool

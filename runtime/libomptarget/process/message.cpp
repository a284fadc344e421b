// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/message.h"

#include "counted.h"
#include "process/characters.h"
#include "process/environment.h"
#include "process/per_process.h"
#include "process/repeated_lines.h"

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace omptool {
namespace {

// Makes a message printable. It may contain any bytes of an image or the environment; no byte may control the terminal.
void make_printable(char* text, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size;) {
    const std::size_t length = character_at({text + i, size - i});
    if (length == 0)
      text[i] = '?';
    i += std::max(length, std::size_t{1});
  }
}

constexpr std::size_t kLongest = 1024;
constexpr const char* kPrefix = "omptarget: ";

void write_line(const char* prefix, const char* format, std::va_list arguments) noexcept {
  char line[kLongest];
  const int start = std::snprintf(line, sizeof line, "%s", prefix);
  const int rest = std::vsnprintf(line + start, sizeof line - static_cast<std::size_t>(start), format, arguments);
  const std::size_t wanted = static_cast<std::size_t>(start) + static_cast<std::size_t>(std::max(rest, 0));
  const std::size_t length = std::min(wanted, sizeof line - 1);
  make_printable(line, length);
  line[length] = '\n'; // over the terminating zero
  // Written bytes are not checked: if stderr fails, there is nowhere to report it.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, length + 1);
}

void write_once(const char* format, std::va_list arguments) noexcept {
  char line[kLongest];
  std::vsnprintf(line, sizeof line, format, arguments);
  if (PerProcess<RepeatedLines>::get().is_new(line))
    tell(kPrefix, "%s", line);
}

// Reports repetitions at every kind of process end that runs destructors.
[[gnu::destructor]] void report_repetitions() noexcept {
  if (RepeatedLines* const lines = PerProcess<RepeatedLines>::known())
    lines->take([](const char* line, std::uint64_t repetitions) {
      tell(kPrefix, "repeated %s: %s", counted(repetitions, "time").c_str(), line);
    });
}

} // namespace

void say(const char* format, ...) noexcept {
  if (environment().quiet)
    return;
  std::va_list arguments;
  va_start(arguments, format);
  write_once(format, arguments);
  va_end(arguments);
}

void warn(const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  write_once(format, arguments);
  va_end(arguments);
}

void tell(const char* prefix, const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  write_line(prefix, format, arguments);
  va_end(arguments);
}

void die(const char* format, ...) noexcept {
  report_repetitions();
  std::va_list arguments;
  va_start(arguments, format);
  write_line("omptarget fatal error: ", format, arguments);
  va_end(arguments);
  std::abort();
}

void die_at(const char* place, int number, const char* format, ...) noexcept {
  report_repetitions();
  char prefix[256];
  std::snprintf(prefix, sizeof prefix, "%s%somptarget fatal error %d: ", place, *place ? ": " : "", number);
  std::va_list arguments;
  va_start(arguments, format);
  write_line(prefix, format, arguments);
  va_end(arguments);
  std::abort();
}

} // namespace omptool

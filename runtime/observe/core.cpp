// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core.h"

#include "process/message.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace omptool {
namespace {

constinit std::atomic<const observe::Core*> the_core{nullptr};

// A line as the core prints it, no longer.
class Line {
public:
  Line(const char* format, std::va_list arguments) noexcept { std::vsnprintf(text_, sizeof text_, format, arguments); }
  const char* text() const noexcept { return text_; }

private:
  char text_[1024];
};

} // namespace

namespace observe {

bool take_core(const Core& core) {
  if (core.size != sizeof core || std::strcmp(core.version, OMPTOOL_VERSION) != 0)
    return false;
  the_core.store(&core, std::memory_order_release);
  return true;
}

const Core& core() {
  return *the_core.load(std::memory_order_acquire);
}

// ---- observe/events/sink.h ----

void subscribe(Listener& listener, std::uint32_t what) {
  core().subscribe(listener, what);
}

const Begun* construct_here() {
  return core().construct_here();
}

Clock::time_point latest() {
  return core().latest();
}

Clock::time_point now() {
  return core().now();
}

} // namespace observe

// ---- process/message.h ----

void say(const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  observe::core().say("%s", Line(format, arguments).text());
  va_end(arguments);
}

void tell(const char* prefix, const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  observe::core().tell(prefix, "%s", Line(format, arguments).text());
  va_end(arguments);
}

void die(const char* format, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, format);
  observe::core().die("%s", Line(format, arguments).text());
  va_end(arguments);
  std::abort();
}

} // namespace omptool

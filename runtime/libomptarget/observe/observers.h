// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface between a core, which is libomptarget.so or omptool-worker, and libomptool_observe.so. Both are of one
// build and lie in one folder. Neither is linked with the other.
#pragma once

#include "observe/events/sink.h"
#include "observe/memory_guard.h"

#include <cstddef>

namespace omptool::observe {

// Functions of the core, and settings that it has read, for the observers.
struct Core {
  std::size_t size = sizeof(Core); // another build's may differ
  const char* version;             // omptool's
  void (*subscribe)(Listener& listener, std::uint32_t what);
  Clock::time_point (*now)();
  Clock::time_point (*latest)();
  const Begun* (*construct_here)();
  void (*say)(const char* format, ...) noexcept;
  void (*tell)(const char* prefix, const char* format, ...) noexcept;
  void (*die)(const char* format, ...) noexcept; // does not return
  unsigned kernel_timeout;                       // seconds; 0: none
  bool spreads_regions;                          // regions that name no device go to the least loaded one
};

// Called without a lock. Each function may be called again, by several threads at a time.
class Observers {
public:
  // Starts those that also count registrations: the report and the summary.
  virtual void start_early() = 0;
  // Starts all that the environment asks for.
  virtual void start() = 0;
  // Returns null if the environment asks for no guard.
  virtual MemoryGuard* memory_guard() = 0;
  // Prints and writes what is left, when the process ends.
  virtual void finish() = 0;

protected:
  ~Observers() = default;
};

// Opens observers: type of the library's one function. The function returns null for a core of another build.
using OpenObservers = Observers*(const Core& core);
inline constexpr const char* kOpenObservers = "omptool_observe_open";
inline constexpr const char* kObserversFile = "libomptool_observe.so";

} // namespace omptool::observe

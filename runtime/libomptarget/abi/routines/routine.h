// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the routines: their results, and their events for listeners.
#pragma once

#include "abi/exports.h"
#include "offload/fallback.h"
#include "offload/offload.h"

namespace omptool {

// Result of a routine that has failed.
inline constexpr int kFailed = -1;

inline bool is_host(int number) {
  return number == number_of_devices();
}

// Returns the device of this number if nothing is left to prepare; else null, also for -1.
inline Device* ready_device(int number) {
  return number >= 0 ? ready_device(Registry::current(), number) : nullptr;
}
// Returns the device of this number, initialised; null if it cannot be used.
inline Device* known_device(int number) {
  Device* const device = ready_device(number);
  return device ? device : usable_device(number);
}

// Runs `body`, the whole of a routine that moves or allocates memory. Listeners that start during the routine receive
// its events, too.
template <typename Body> auto reported(const char* function, const void* code, const Body& body) noexcept {
  return guarded(function, [&] {
    const ReportedCall here({observe::Abi::kRoutine, Action::kRoutine, function, code});
    return body();
  });
}

// Runs `body` as reported() does. Returns 0 if `body` returns true, else kFailed.
template <typename Body> int tried(const char* function, const void* code, const Body& body) noexcept {
  return reported(function, code, [&] { return body() ? 0 : kFailed; });
}

} // namespace omptool

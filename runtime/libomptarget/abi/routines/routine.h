// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the routines: their results, and what listeners hear of them.
#pragma once

#include "devices/registry.h"
#include "observe/sink.h"
#include "offload/offload.h"

#include <optional>

namespace omptool {

// A routine returns this when it has failed.
inline constexpr int kFailed = -1;

inline bool is_host(int number) {
  return number == number_of_devices();
}

// A routine that moves or allocates memory, while it runs.
class Routine {
public:
  Routine(const char* function, const void* code) {
    if (observe::may_be_heard()) [[unlikely]]
      begin({observe::Abi::kRoutine, observe::Action::kRoutine, function, code});
  }

private:
  void begin(const observe::Call& call);
  std::optional<observe::Construct> construct_;
};

// A routine asks for the byte at `address`.
void report_lookup(Device& device, const void* address);
// A routine copies; nobody knows what the program calls it.
void report_copy(const Device& device, bool to_device, const void* host, const void* there, std::size_t size);

} // namespace omptool

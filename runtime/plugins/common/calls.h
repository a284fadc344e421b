// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part that all exported functions of a plugin of ours share. Each plugin has its own copy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <string_view>

#define OMPTOOL_RTL_EXPORT extern "C" __attribute__((visibility("default")))

namespace omptool {

// Holds why the last call on this thread failed, or "". Without a destructor: the thread that ends the process makes
// its last calls in exit handlers, when its variables are gone. Short, because the plugin's variables of threads are
// all in the loader's reserve for such libraries, of which there are 1664 bytes for a process.
inline thread_local constinit std::array<char, 512> last_error{};

// Remembers the reason, as far as there is room; returns what a failing int32_t call returns.
inline std::int32_t fail(std::string_view reason) {
  const std::size_t length = std::min(reason.size(), last_error.size() - 1);
  std::copy_n(reason.begin(), length, last_error.begin());
  last_error[length] = '\0';
  return 1;
}

// Runs `body()`; an exception is a failure with a reason.
template <typename Body, typename Result> Result safely(Result failed, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return failed;
}

} // namespace omptool

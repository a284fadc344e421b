// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <utility>

namespace omptool {

// Marks what the calling thread examines or prepares while this lives: a registry's plugins, or a device. The core
// answers calls that plugins, drivers or constructors of images make meanwhile from what is known.
struct Busy {
  static inline thread_local constinit const Busy* innermost [[gnu::tls_model("initial-exec")]] = nullptr;
  const void* const with;
  const Busy* const outer = std::exchange(innermost, this);
  ~Busy() { innermost = outer; }
  static bool is_with(const void* what) {
    const Busy* one = innermost;
    while (one && one->with != what)
      one = one->outer;
    return one != nullptr;
  }
};

} // namespace omptool

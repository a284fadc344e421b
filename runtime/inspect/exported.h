// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python calls these functions with numbers and gets a number; -1 leaves the answer to the twin.
#pragma once

#include <cstdint>
#include <exception>

#define OMPTOOL_EXPORTED extern "C" __attribute__((visibility("default"))) std::int64_t

// Leave unusual input to the twin.
inline void expect(bool is_usual) {
  if (!is_usual)
    throw std::exception();
}

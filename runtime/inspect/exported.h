// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exports functions for Python, which pass and return numbers; -1 makes the caller use the Python twin.
#pragma once

#include <cstdint>
#include <exception>

#define OMPTOOL_EXPORTED extern "C" __attribute__((visibility("default"))) std::int64_t

// Leave unusual input to the twin.
inline void expect(bool is_usual) {
  if (!is_usual)
    throw std::exception();
}

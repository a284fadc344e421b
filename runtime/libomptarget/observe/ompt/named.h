// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that a tool finds by their names.
#pragma once

#include "observe/ompt/abi.h"

#include <cstring>
#include <span>

namespace omptool::ompt {

struct Named {
  const char* name;
  AnyFunction function;
};

template <typename Function> Named named(const char* name, Function* function) {
  return {name, reinterpret_cast<AnyFunction>(function)};
}

// Finds a function by name, or null.
inline AnyFunction find(std::span<const Named> functions, const char* name) {
  for (const Named& one : functions)
    if (name && !std::strcmp(one.name, name))
      return one.function;
  return nullptr;
}

} // namespace omptool::ompt

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exports functions from this library: visible, without an exception, and, where one name has two meanings, under an
// explicit symbol version (exports.map names the versions).
#pragma once

#include "data/table/mapping_fault.h"
#include "process/message.h"

#include <exception>

#define OMPTOOL_EXPORT __attribute__((visibility("default")))

// Exports `function` (an extern "C" name) as the string `versioned`, "name@VERSION".
#define OMPTOOL_EXPORT_AS(function, versioned) __asm__(".symver " #function ", " versioned)

namespace omptool {

// Runs `body`, the whole of an exported function. An exception (in practice: out of memory) leaves
// the tables in an unknown state, so it ends the program here rather than in a caller written in C.
template <typename Body> auto guarded(const char* call, const Body& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const MappingFault& fault) {
    die("%s", fault.what());
  } catch (const std::exception& error) {
    die("%s: %s", call, error.what());
  } catch (...) {
    die("%s: unknown exception", call);
  }
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what clang tells about the source: ";file;function;line;column;;" for a construct and
// ";variable;file;line;column;;" for what it maps. Without -g there is nothing, or "unknown" and zeros.
#pragma once

#include <cstdint>
#include <string>

namespace omptool::llvm {

// ident_t.
struct Location {
  std::int32_t reserved1, flags, reserved2, reserved3;
  const char* source;
};

struct Place {
  std::string name = "unknown"; // of a variable or expression
  std::string file = "unknown"; // without its folders
  std::string line = "0", column = "0";
  bool known() const { return line != "0" || column != "0"; }
  std::string text() const { return file + ":" + line + ":" + column; }
};

Place place_of(const Location* construct);
// `source` as Location has it; may be null.
Place place_of_construct(const char* source);
// `mapped` may also be a bare name, as global variables have.
Place place_of(const char* mapped);

} // namespace omptool::llvm

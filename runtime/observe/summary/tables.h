// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "summary/contents.h"

#include <cstddef>
#include <string>
#include <vector>

namespace omptool::observe {

enum class Rows { kFirst, kAll };

// Returns the lines that `omptool run --summary` prints, in at most `width` characters where they are of tables.
std::vector<std::string> summary_lines(const Contents& contents, Rows rows, std::size_t width);

} // namespace omptool::observe

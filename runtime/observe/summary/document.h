// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "summary/contents.h"

#include <string>

namespace omptool::observe {

// Returns the part of omptool/schemas/run-summary.json that is about one process.
std::string summary_document(const Contents& contents);

} // namespace omptool::observe

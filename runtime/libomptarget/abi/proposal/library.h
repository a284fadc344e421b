// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what programs of libtarget.so register.
#pragma once

#include "devices/library_contents.h"

namespace omptool::proposal {

// A LibraryReader. Plugins get entries without names; messages call them by their place, from 0.
std::string read_library(const void* address, LibraryContents& contents);

} // namespace omptool::proposal

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registration calls of every ABI, which ignore a null descriptor. When the last library goes, LIBOMPTARGET_INFO
// prints the tables that it asks for.
#pragma once

#include "devices/library_contents.h"

namespace omptool {

void register_library(const void* descriptor, LibraryReader read) noexcept;
void unregister_library(const void* descriptor) noexcept;

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file that this code is in: libomptarget.so, or omptool-worker. Both functions ask the dynamic linker.
#pragma once

#include <string>

namespace omptool {

std::string own_path();
// Returns the folder, in which plugins and libomptool_observe.so lie, too.
std::string own_folder();

} // namespace omptool

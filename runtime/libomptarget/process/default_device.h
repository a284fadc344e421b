// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace omptool {

// The default device: LLVM's libomp keeps it where that is loaded, this library otherwise.
[[gnu::hot]] int default_device();
void set_default_device(int number);
// A library has been loaded that may have brought libomp with it.
void look_for_libomp_again();

} // namespace omptool

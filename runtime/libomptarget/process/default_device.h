// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace omptool {

// The default device: LLVM's libomp keeps it where that is loaded, this library otherwise.
int default_device();
void set_default_device(int number);
// Calls use this number for it.
inline constexpr std::int64_t kDefaultDevice = -1;
[[gnu::always_inline]] inline std::int64_t device_number(std::int64_t device_id) {
  return device_id == kDefaultDevice ? default_device() : device_id;
}
// A library has been loaded that may have brought libomp with it.
void look_for_libomp_again();

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills in a plugin's description of a device.
#pragma once

#include "omptarget_rtl.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace omptool {

// Copies as much of the text as the array holds.
template <std::size_t kSize> void put(std::string_view text, char (&place)[kSize]) {
  place[text.copy(place, kSize - 1)] = '\0';
}

// Copies the fields that the core's record has room for.
inline void answer(tgt_device_description known, tgt_device_description& asked) {
  known.size = asked.size;
  std::memcpy(&asked, &known, std::min<std::size_t>(known.size, sizeof known));
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Environment variables of the plugin. Programs that run with raised privileges (AT_SECURE) ignore them.
#pragma once

#include "ol.h"

#include <string>
#include <vector>

namespace omptool::liboffload {

// Wanted back ends from OMPTOOL_LIBOFFLOAD: "amd", "level_zero" and "cuda" with commas between, or "all". Default: amd,
// because other plugins of omptool have the devices of the other back ends. A wrong value gets one line on stderr, and
// is ignored.
const std::vector<std::uint32_t>& wanted_backends();
bool is_wanted(std::uint32_t backend);

// OMPTOOL_LIBOFFLOAD_PATH: the file of the library; "": as the loader finds it.
std::string library_path();

} // namespace omptool::liboffload

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Environment variables of the plugin. Programs that run with raised privileges (AT_SECURE) ignore them.
#pragma once

#include "ol.h"

#include <string>
#include <vector>

namespace omptool::liboffload {

// OMPTOOL_LIBOFFLOAD: back ends, "amd", "level_zero" and "cuda", with commas between, or "all". Only AMD's is used
// where it is not set: plugins of omptool's own have the devices of the others. A value that cannot be used gets one
// line on stderr, and is ignored.
const std::vector<std::uint32_t>& wanted_backends();
bool is_wanted(std::uint32_t backend);

// OMPTOOL_LIBOFFLOAD_PATH: the file of the library; "": as the loader finds it.
std::string library_path();

} // namespace omptool::liboffload

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads from an image's bytes the AMD processor that its code is for. The rules are those of packager/gpus.py, and a
// test compares the two.
#pragma once

#include "bytes.h"

#include <string>
#include <vector>

namespace omptool::liboffload {

// Returns the processor, such as "gfx90a:xnack+", or "" if the bytes are no AMD code object or name an unknown
// processor.
std::string processor_of(Bytes image);

// Returns whether a GPU, "gfx90a" or "gfx90a:xnack-", runs code for a processor, which may be a family's.
bool runs_on(const std::string& code, const std::string& gpu);

// Returns why the bytes are no image of this plugin, or "". Back ends other than AMD's count where they are wanted.
std::string fault_of_bytes(Bytes image);

// Returns why no such GPU runs the image, or "". Images that are not AMD's code are left to the library.
std::string fault_of(Bytes image, const std::vector<std::string>& gpus);

} // namespace omptool::liboffload

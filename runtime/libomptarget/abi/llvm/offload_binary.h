// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's container of images, version 1 (one image) and 2 (any number). LLVM 15 to 17 register it instead of the image.
#pragma once

#include "bytes.h"

#include <string>
#include <vector>

namespace omptool::llvm {

bool is_wrapped(Bytes bytes);

// Appends the images inside an OffloadBinary; `bytes` itself when it is none. Returns what is wrong with it, or "". A
// version that is not known is named, with its compiler, and nothing else of it is read.
std::string unwrap(Bytes bytes, std::vector<Bytes>& images);

} // namespace omptool::llvm

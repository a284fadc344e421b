// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bytes.h"

#include <string>

namespace omptool::host {

// Returns the processor that LLVM's container of an image declares, such as "bdver4" or "bdver4 with features +avx2".
// Linkers put the container's header in front of the image. Returns "" if there is no header, or no processor in it.
std::string declared_processor(Bytes image);
// Returns the processor in the bytes before an image of `size` bytes, as declared_processor() does.
std::string processor_in(Bytes before, std::size_t size);

} // namespace omptool::host

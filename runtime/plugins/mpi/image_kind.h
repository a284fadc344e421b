// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detects kinds of images by their first bytes, and lists the worker plugins for each kind, so that no worker has to be
// asked. The worker's plugin checks the whole image when it loads it.
#pragma once

#include "bytes.h"

#include <string_view>

namespace omptool::mpi {

enum class ImageKind { kUnknown, kCpu, kCuda, kSpirv, kBitcode };

ImageKind kind_of(Bytes image);
bool may_take(std::string_view plugin, ImageKind kind);

} // namespace omptool::mpi

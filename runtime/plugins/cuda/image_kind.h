// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads from an image's bytes, before the driver sees them, its kind and the GPUs that its code is for.
#pragma once

#include "bytes.h"

#include <string>
#include <vector>

namespace omptool::cuda {

enum class ImageKind { kNone, kPtx, kCubin, kFatbin };
ImageKind kind_of(Bytes image);

// Code of an image: as it is for the GPU's processor, or PTX that the driver compiles. `number` is 90 of sm_90.
struct Code {
  bool is_ptx = false;
  int number = 0;
  char variant = '\0'; // 'a': for exactly this one; 'f': for its family
};
// Returns the codes of an image, or none if the bytes do not show them.
std::vector<Code> codes_of(Bytes image);

// Returns whether a GPU of compute capability `number` runs the code.
bool runs_on(const Code& code, int number);

// Returns why the bytes are no image for any NVIDIA GPU, or "".
std::string fault_of_bytes(Bytes image);

// Returns why none of the devices runs the image, or "". `driver` is the driver's version, numbered as CUDA's (12040 is
// 12.4, 0 is unknown). Images without a visible architecture are left to the driver.
std::string fault_of(Bytes image, const std::vector<int>& devices, int driver);

} // namespace omptool::cuda

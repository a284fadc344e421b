// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an image's bytes say before the driver sees them: its kind, and for which GPUs its code is.
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
// Empty where the bytes do not tell.
std::vector<Code> codes_of(Bytes image);

// Whether a GPU of compute capability `number` runs the code.
bool runs_on(const Code& code, int number);

// Why the bytes are no image for any NVIDIA GPU, or "".
std::string fault_of_bytes(Bytes image);

// Why no device of these runs the image, or "". Images that do not tell are the driver's to judge, whose version is
// that of CUDA: 12040 is 12.4, 0 is unknown.
std::string fault_of(Bytes image, const std::vector<int>& devices, int driver);

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's driver library, opened when a program needs it.
#pragma once

#include "driver_api.h"

#include <string>

namespace omptool::cuda {

#define OMPTOOL_CUDA_MEMBER(function, ...) CUresult (*function)(__VA_ARGS__) = nullptr;
struct Driver {
  OMPTOOL_CUDA_FUNCTIONS(OMPTOOL_CUDA_MEMBER)
  OMPTOOL_CUDA_LATER_FUNCTIONS(OMPTOOL_CUDA_MEMBER)
  int version = 0; // of CUDA, 12040 is 12.4; 0: unknown
};
#undef OMPTOOL_CUDA_MEMBER

// Opens the library and fills in the table. Returns why that is impossible, or "".
std::string open_driver(Driver& driver);

// Outcome of a driver call.
struct [[nodiscard]] Outcome {
  const char* function;
  CUresult result;
  bool ok() const { return result == CUDA_SUCCESS; }
};
// Outcome of a call: OMPTOOL_CUDA(driver, cuInit, 0).
#define OMPTOOL_CUDA(driver, function, ...) (::omptool::cuda::Outcome{#function, (driver).function(__VA_ARGS__)})

// Returns text such as "cuInit: CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected".
std::string text_of(const Driver& driver, Outcome outcome);

// Returns whether the device is of no more use to this process: its context has ended, for instance by a fault of a
// kernel.
bool is_lost(CUresult result);

} // namespace omptool::cuda

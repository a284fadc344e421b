// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver.h"

#include <dlfcn.h>

namespace omptool::cuda {

std::string open_driver(Driver& driver) {
  // Opens the library for good: the driver has threads and exit handlers.
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const reason = ::dlerror();
    return std::string("no NVIDIA driver: ") + (reason ? reason : "libcuda.so.1 cannot be opened");
  }
  std::string missing;
  const auto find = [&](const char* name, auto& place) {
    place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(::dlsym(library, name));
    return place != nullptr;
  };
#define OMPTOOL_CUDA_NEED(function, ...)                                                                               \
  if (!find(#function, driver.function))                                                                               \
    missing += missing.empty() ? #function : ", " #function;
#define OMPTOOL_CUDA_FIND(function, ...) find(#function, driver.function);
  OMPTOOL_CUDA_FUNCTIONS(OMPTOOL_CUDA_NEED)
  OMPTOOL_CUDA_LATER_FUNCTIONS(OMPTOOL_CUDA_FIND)
#undef OMPTOOL_CUDA_NEED
#undef OMPTOOL_CUDA_FIND
  if (!missing.empty())
    return "libcuda.so.1 is older than CUDA 11.2: it lacks " + missing;
  if (driver.cuDriverGetVersion(&driver.version) != CUDA_SUCCESS)
    driver.version = 0;
  return {};
}

std::string text_of(const Driver& driver, Outcome outcome) {
  const char *name = nullptr, *meaning = nullptr;
  std::string text = outcome.function;
  if (driver.cuGetErrorName(outcome.result, &name) == CUDA_SUCCESS && name)
    text += std::string(": ") + name;
  else
    text += ": error " + std::to_string(outcome.result);
  if (driver.cuGetErrorString(outcome.result, &meaning) == CUDA_SUCCESS && meaning)
    text += std::string(", ") + meaning;
  return text;
}

bool is_lost(CUresult result) {
  switch (result) {
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_UNKNOWN:
    return true;
  default: // stack, instruction, alignment, address space, program counter, launch
    return result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED;
  }
}

} // namespace omptool::cuda

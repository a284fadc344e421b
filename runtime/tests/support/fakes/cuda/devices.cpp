// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: the devices and the contexts of threads.
#include "state.h"
#include "streams.h"

#include <cstring>

namespace fake_cuda {
namespace {

thread_local int current = -1;
int retained = 0;

// A context is the number of its device, and one.
CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1);
}

struct ErrorText {
  CUresult result;
  const char* name;
  const char* meaning;
};
constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* text_of(CUresult result) {
  for (const ErrorText& text : kErrors)
    if (text.result == result)
      return &text;
  return nullptr;
}

int attribute_of(CUdevice_attribute attribute) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return kMostThreads;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return kUsualMemory;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return kMostMemory;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return 32;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return kUnits;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return kThreadsOfUnit;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return architecture() / 10;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return architecture() % 10;
  case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
    return number_in("FAKE_CUDA_PAGEABLE", 0) != 0;
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    return 1;
  default: // dimensions of grids and blocks
    return attribute <= 4 ? 1024 : attribute <= 7 ? 65535 : 0;
  }
}

} // namespace

int device_count() {
  static const int count = static_cast<int>(number_in("FAKE_CUDA_DEVICES", 1));
  return count;
}

int architecture() {
  static const int number = static_cast<int>(number_in("FAKE_CUDA_ARCH", 90));
  return number;
}

int current_device() {
  return current;
}

bool is_current(const Stream& stream, CUresult& result) {
  result = current < 0                ? CUDA_ERROR_INVALID_CONTEXT
           : current != stream.device ? CUDA_ERROR_INVALID_HANDLE
                                      : CUDA_SUCCESS;
  return result == CUDA_SUCCESS;
}

} // namespace fake_cuda

using namespace fake_cuda;

FAKE_EXPORT CUresult cuGetErrorName(CUresult result, const char** name) {
  const ErrorText* const text = text_of(result);
  *name = text ? text->name : nullptr;
  return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuGetErrorString(CUresult result, const char** meaning) {
  const ErrorText* const text = text_of(result);
  *meaning = text ? text->meaning : nullptr;
  return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuInit(unsigned flags) {
  FAKE_CALL(call, cuInit, flags);
  return call.ends(device_count() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

FAKE_EXPORT CUresult cuDriverGetVersion(int* version) {
  FAKE_CALL(call, cuDriverGetVersion);
  *version = static_cast<int>(number_in("FAKE_CUDA_VERSION", 12040));
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceGetCount(int* count) {
  FAKE_CALL(call, cuDeviceGetCount);
  *count = device_count();
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceGet(CUdevice* device, int number) {
  FAKE_CALL(call, cuDeviceGet, number);
  *device = number;
  return call.ends(number >= 0 && number < device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

FAKE_EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  FAKE_CALL(call, cuDeviceGetName, device);
  std::strncpy(name, "FAKE GPU", static_cast<std::size_t>(size));
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceTotalMem_v2(std::size_t* size, CUdevice device) {
  FAKE_CALL(call, cuDeviceTotalMem, device);
  *size = std::size_t{1} << 34;
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  FAKE_CALL(call, cuDeviceGetAttribute, attribute, device);
  *value = attribute_of(attribute);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  FAKE_CALL(call, cuDevicePrimaryCtxRetain, device);
  const std::lock_guard lock(lock_of_all);
  ++retained;
  *context = context_of(device);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  FAKE_CALL(call, cuDevicePrimaryCtxRelease, device);
  const std::lock_guard lock(lock_of_all);
  if (--retained < 0)
    misuse("a context is released that nobody has");
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* is_active) {
  FAKE_CALL(call, cuDevicePrimaryCtxGetState, device);
  const std::lock_guard lock(lock_of_all);
  *flags = 0;
  *is_active = retained > 0;
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  FAKE_CALL(call, cuDevicePrimaryCtxSetFlags, device, flags);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  FAKE_CALL(call, cuCtxSetCurrent, context);
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(context);
  if (number > static_cast<std::uintptr_t>(device_count())) {
    misuse("no such context");
    return call.ends(CUDA_ERROR_INVALID_CONTEXT);
  }
  current = static_cast<int>(number) - 1;
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  FAKE_CALL(call, cuCtxGetDevice);
  *device = current;
  return call.ends(current < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  FAKE_CALL(call, cuCtxGetLimit, limit);
  *value = limit == CU_LIMIT_STACK_SIZE ? 1024 : 8 << 20;
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  FAKE_CALL(call, cuCtxSetLimit, limit, value);
  return call.ends(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxSynchronize() {
  FAKE_CALL(call, cuCtxSynchronize);
  wait_for_all(current);
  return call.ends(fault_now());
}

FAKE_EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice from, CUdevice to) {
  FAKE_CALL(call, cuDeviceCanAccessPeer, from, to);
  *can = 0;
  return call.ends(CUDA_SUCCESS);
}

// Used by LLVM's plugin.
FAKE_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  FAKE_CALL(call, cuCtxEnablePeerAccess, peer, flags);
  return call.ends(CUDA_ERROR_INVALID_VALUE);
}

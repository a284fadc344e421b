// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the functions of NVIDIA's driver that this plugin calls, by the names that libcuda.so.1 exports. In cuda.h
// some of these names are macros for others. The build needs nothing of CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptool::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUhostFn = void (*)(void*);
using CUoccupancyB2DSize = std::size_t (*)(int);

// CUresult values that this plugin tests for.
enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_UNKNOWN = 999
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100
};
enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
};
enum CUjit_option : int {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};
enum CUpointer_attribute : int { CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2 };
enum CUlimit : int { CU_LIMIT_STACK_SIZE = 0, CU_LIMIT_MALLOC_HEAP_SIZE = 2 };

constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;
constexpr unsigned CU_MEM_ATTACH_GLOBAL = 1;

// CU_LAUNCH_PARAM words for the last argument of cuLaunchKernel.
inline void* const CU_LAUNCH_PARAM_END = nullptr;
inline void* const CU_LAUNCH_PARAM_BUFFER_POINTER = reinterpret_cast<void*>(1);
inline void* const CU_LAUNCH_PARAM_BUFFER_SIZE = reinterpret_cast<void*>(2);

// X(function, parameters...): every driver since CUDA 11.2 has these.
#define OMPTOOL_CUDA_FUNCTIONS(X)                                                                                      \
  X(cuInit, unsigned)                                                                                                  \
  X(cuDriverGetVersion, int*)                                                                                          \
  X(cuGetErrorName, CUresult, const char**)                                                                            \
  X(cuGetErrorString, CUresult, const char**)                                                                          \
  X(cuDeviceGetCount, int*)                                                                                            \
  X(cuDeviceGet, CUdevice*, int)                                                                                       \
  X(cuDeviceGetName, char*, int, CUdevice)                                                                             \
  X(cuDeviceTotalMem_v2, std::size_t*, CUdevice)                                                                       \
  X(cuDeviceGetAttribute, int*, CUdevice_attribute, CUdevice)                                                          \
  X(cuDevicePrimaryCtxRetain, CUcontext*, CUdevice)                                                                    \
  X(cuCtxSetCurrent, CUcontext)                                                                                        \
  X(cuCtxSetLimit, CUlimit, std::size_t)                                                                               \
  X(cuCtxSynchronize)                                                                                                  \
  X(cuModuleLoadDataEx, CUmodule*, const void*, unsigned, CUjit_option*, void**)                                       \
  X(cuModuleUnload, CUmodule)                                                                                          \
  X(cuModuleGetFunction, CUfunction*, CUmodule, const char*)                                                           \
  X(cuModuleGetGlobal_v2, CUdeviceptr*, std::size_t*, CUmodule, const char*)                                           \
  X(cuFuncGetAttribute, int*, CUfunction_attribute, CUfunction)                                                        \
  X(cuFuncSetAttribute, CUfunction, CUfunction_attribute, int)                                                         \
  X(cuLaunchKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,        \
    void**, void**)                                                                                                    \
  X(cuLaunchCooperativeKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
    CUstream, void**)                                                                                                  \
  X(cuOccupancyMaxPotentialBlockSize, int*, int*, CUfunction, CUoccupancyB2DSize, std::size_t, int)                    \
  X(cuMemAlloc_v2, CUdeviceptr*, std::size_t)                                                                          \
  X(cuMemFree_v2, CUdeviceptr)                                                                                         \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                                                                     \
  X(cuMemFreeHost, void*)                                                                                              \
  X(cuMemAllocManaged, CUdeviceptr*, std::size_t, unsigned)                                                            \
  X(cuMemHostRegister_v2, void*, std::size_t, unsigned)                                                                \
  X(cuMemHostUnregister, void*)                                                                                        \
  X(cuMemHostGetDevicePointer_v2, CUdeviceptr*, void*, unsigned)                                                       \
  X(cuPointerGetAttributes, unsigned, CUpointer_attribute*, void**, CUdeviceptr)                                       \
  X(cuMemcpyDtoH_v2, void*, CUdeviceptr, std::size_t)                                                                  \
  X(cuMemcpyHtoD_v2, CUdeviceptr, const void*, std::size_t)                                                            \
  X(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void*, std::size_t, CUstream)                                             \
  X(cuMemcpyDtoHAsync_v2, void*, CUdeviceptr, std::size_t, CUstream)                                                   \
  X(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, std::size_t, CUstream)                                             \
  X(cuMemcpyPeerAsync, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream)                          \
  X(cuMemsetD8Async, CUdeviceptr, unsigned char, std::size_t, CUstream)                                                \
  X(cuStreamCreate, CUstream*, unsigned)                                                                               \
  X(cuStreamDestroy_v2, CUstream)                                                                                      \
  X(cuStreamSynchronize, CUstream)                                                                                     \
  X(cuStreamQuery, CUstream)                                                                                           \
  X(cuStreamWaitEvent, CUstream, CUevent, unsigned)                                                                    \
  X(cuEventCreate, CUevent*, unsigned)                                                                                 \
  X(cuEventRecord, CUevent, CUstream)                                                                                  \
  X(cuEventQuery, CUevent)                                                                                             \
  X(cuEventSynchronize, CUevent)                                                                                       \
  X(cuEventDestroy_v2, CUevent)

// Later ones; null where the driver has none. cuFuncGetParamInfo: CUDA 12.4.
#define OMPTOOL_CUDA_LATER_FUNCTIONS(X) X(cuFuncGetParamInfo, CUfunction, std::size_t, std::size_t*, std::size_t*)

} // namespace omptool::cuda

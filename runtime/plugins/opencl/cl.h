// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the part of OpenCL that this plugin calls, as the Khronos Group's headers do (OpenCL 3.0; the extensions
// cl_khr_il_program and cl_intel_unified_shared_memory), so that the build needs no headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptool::opencl {

using cl_int = std::int32_t;
using cl_uint = std::uint32_t;
using cl_ulong = std::uint64_t;
using cl_bitfield = std::uint64_t;
using cl_bool = cl_uint;
using cl_platform_id = struct _cl_platform_id*;
using cl_device_id = struct _cl_device_id*;
using cl_context = struct _cl_context*;
using cl_command_queue = struct _cl_command_queue*;
using cl_program = struct _cl_program*;
using cl_kernel = struct _cl_kernel*;
using cl_event = struct _cl_event*;
using cl_event_callback = void (*)(cl_event, cl_int, void*);

// Errors that are looked for; errors.cpp has the names of all.
constexpr cl_int CL_SUCCESS = 0, CL_DEVICE_NOT_AVAILABLE = -2, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST = -14,
                 CL_INVALID_SPEC_ID = -71;
constexpr cl_bool CL_TRUE = 1, CL_FALSE = 0;
constexpr cl_int CL_COMPLETE = 0;

constexpr cl_bitfield CL_DEVICE_TYPE_CPU = 1 << 1, CL_DEVICE_TYPE_ALL = 0xFFFFFFFF;
// clGetDeviceInfo
constexpr cl_uint CL_DEVICE_TYPE = 0x1000, CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002, CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
                  CL_DEVICE_ADDRESS_BITS = 0x100D, CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
                  CL_DEVICE_MAX_PARAMETER_SIZE = 0x1017, CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
                  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023, CL_DEVICE_AVAILABLE = 0x1027, CL_DEVICE_NAME = 0x102B,
                  CL_DRIVER_VERSION = 0x102D, CL_DEVICE_EXTENSIONS = 0x1030, CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
                  CL_DEVICE_SVM_CAPABILITIES = 0x1053, CL_DEVICE_IL_VERSION = 0x105B,
                  CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL = 0x4192,
                  CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL = 0x4194;
constexpr cl_uint CL_PLATFORM_NAME = 0x0902;
constexpr cl_bitfield CL_DEVICE_SVM_FINE_GRAIN_BUFFER = 1 << 1, CL_DEVICE_SVM_FINE_GRAIN_SYSTEM = 1 << 2,
                      CL_DEVICE_SVM_ATOMICS = 1 << 3;
constexpr cl_bitfield CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL = 1 << 0,
                      CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL = 1 << 2;
// clSVMAlloc
constexpr cl_bitfield CL_MEM_READ_WRITE = 1 << 0, CL_MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10, CL_MEM_SVM_ATOMICS = 1 << 11;
// clGetProgramBuildInfo, clGetProgramInfo
constexpr cl_uint CL_PROGRAM_BUILD_LOG = 0x1183, CL_PROGRAM_KERNEL_NAMES = 0x1168;
// clGetKernelInfo, clGetKernelWorkGroupInfo, clSetKernelExecInfo
constexpr cl_uint CL_KERNEL_NUM_ARGS = 0x1191, CL_KERNEL_WORK_GROUP_SIZE = 0x11B0, CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
                  CL_KERNEL_EXEC_INFO_SVM_PTRS = 0x11B6, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM = 0x11B7,
                  CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL = 0x4200,
                  CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL = 0x4201,
                  CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL = 0x4202;
constexpr cl_uint CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3;

// The functions of the loader, X(name, result, parameters); those of the second list may be missing in an earlier one.
#define OMPTOOL_CL_REQUIRED(X)                                                                                         \
  X(clGetPlatformIDs, cl_int, (cl_uint, cl_platform_id*, cl_uint*))                                                    \
  X(clGetPlatformInfo, cl_int, (cl_platform_id, cl_uint, std::size_t, void*, std::size_t*))                            \
  X(clGetDeviceIDs, cl_int, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id*, cl_uint*))                           \
  X(clGetDeviceInfo, cl_int, (cl_device_id, cl_uint, std::size_t, void*, std::size_t*))                                \
  X(clGetExtensionFunctionAddressForPlatform, void*, (cl_platform_id, const char*))                                    \
  X(clCreateContext, cl_context, (const std::intptr_t*, cl_uint, const cl_device_id*, void*, void*, cl_int*))          \
  X(clReleaseContext, cl_int, (cl_context))                                                                            \
  X(clCreateCommandQueue, cl_command_queue, (cl_context, cl_device_id, cl_bitfield, cl_int*))                          \
  X(clCreateProgramWithBinary, cl_program,                                                                             \
    (cl_context, cl_uint, const cl_device_id*, const std::size_t*, const unsigned char**, cl_int*, cl_int*))           \
  X(clBuildProgram, cl_int, (cl_program, cl_uint, const cl_device_id*, const char*, void*, void*))                     \
  X(clGetProgramBuildInfo, cl_int, (cl_program, cl_device_id, cl_uint, std::size_t, void*, std::size_t*))              \
  X(clGetProgramInfo, cl_int, (cl_program, cl_uint, std::size_t, void*, std::size_t*))                                 \
  X(clReleaseProgram, cl_int, (cl_program))                                                                            \
  X(clCreateKernel, cl_kernel, (cl_program, const char*, cl_int*))                                                     \
  X(clGetKernelInfo, cl_int, (cl_kernel, cl_uint, std::size_t, void*, std::size_t*))                                   \
  X(clGetKernelWorkGroupInfo, cl_int, (cl_kernel, cl_device_id, cl_uint, std::size_t, void*, std::size_t*))            \
  X(clSetKernelArg, cl_int, (cl_kernel, cl_uint, std::size_t, const void*))                                            \
  X(clReleaseKernel, cl_int, (cl_kernel))                                                                              \
  X(clEnqueueNDRangeKernel, cl_int,                                                                                    \
    (cl_command_queue, cl_kernel, cl_uint, const std::size_t*, const std::size_t*, const std::size_t*, cl_uint,        \
     const cl_event*, cl_event*))                                                                                      \
  X(clEnqueueMarkerWithWaitList, cl_int, (cl_command_queue, cl_uint, const cl_event*, cl_event*))                      \
  X(clFlush, cl_int, (cl_command_queue))                                                                               \
  X(clWaitForEvents, cl_int, (cl_uint, const cl_event*))                                                               \
  X(clGetEventInfo, cl_int, (cl_event, cl_uint, std::size_t, void*, std::size_t*))                                     \
  X(clSetEventCallback, cl_int, (cl_event, cl_int, cl_event_callback, void*))                                          \
  X(clRetainEvent, cl_int, (cl_event))                                                                                 \
  X(clReleaseEvent, cl_int, (cl_event))
#define OMPTOOL_CL_OPTIONAL(X)                                                                                         \
  X(clCreateProgramWithIL, cl_program, (cl_context, const void*, std::size_t, cl_int*))                                \
  X(clSetProgramSpecializationConstant, cl_int, (cl_program, cl_uint, std::size_t, const void*))                       \
  X(clSetKernelExecInfo, cl_int, (cl_kernel, cl_uint, std::size_t, const void*))                                       \
  X(clSetKernelArgSVMPointer, cl_int, (cl_kernel, cl_uint, const void*))                                               \
  X(clSVMAlloc, void*, (cl_context, cl_bitfield, std::size_t, cl_uint))                                                \
  X(clSVMFree, void, (cl_context, void*))                                                                              \
  X(clEnqueueSVMMemcpy, cl_int,                                                                                        \
    (cl_command_queue, cl_bool, void*, const void*, std::size_t, cl_uint, const cl_event*, cl_event*))                 \
  X(clEnqueueSVMMemFill, cl_int,                                                                                       \
    (cl_command_queue, void*, const void*, std::size_t, std::size_t, cl_uint, const cl_event*, cl_event*))
// Functions of a platform's extensions.
#define OMPTOOL_CL_EXTENSIONS(X)                                                                                       \
  X(clCreateProgramWithILKHR, cl_program, (cl_context, const void*, std::size_t, cl_int*))                             \
  X(clHostMemAllocINTEL, void*, (cl_context, const cl_bitfield*, std::size_t, cl_uint, cl_int*))                       \
  X(clDeviceMemAllocINTEL, void*, (cl_context, cl_device_id, const cl_bitfield*, std::size_t, cl_uint, cl_int*))       \
  X(clSharedMemAllocINTEL, void*, (cl_context, cl_device_id, const cl_bitfield*, std::size_t, cl_uint, cl_int*))       \
  X(clMemFreeINTEL, cl_int, (cl_context, void*))                                                                       \
  X(clSetKernelArgMemPointerINTEL, cl_int, (cl_kernel, cl_uint, const void*))                                          \
  X(clEnqueueMemcpyINTEL, cl_int,                                                                                      \
    (cl_command_queue, cl_bool, void*, const void*, std::size_t, cl_uint, const cl_event*, cl_event*))                 \
  X(clEnqueueMemFillINTEL, cl_int,                                                                                     \
    (cl_command_queue, void*, const void*, std::size_t, std::size_t, cl_uint, const cl_event*, cl_event*))             \
  X(clGetDeviceGlobalVariablePointerINTEL, cl_int, (cl_device_id, cl_program, const char*, std::size_t*, void**))

#define OMPTOOL_CL_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
struct Loader {
  OMPTOOL_CL_REQUIRED(OMPTOOL_CL_MEMBER)
  OMPTOOL_CL_OPTIONAL(OMPTOOL_CL_MEMBER)
};
struct Extensions {
  OMPTOOL_CL_EXTENSIONS(OMPTOOL_CL_MEMBER)
};
#undef OMPTOOL_CL_MEMBER

} // namespace omptool::opencl

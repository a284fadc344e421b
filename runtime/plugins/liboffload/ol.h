// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types and functions of LLVM's liboffload (offload/OffloadAPI.h), as releases 22, 23 and 24 have them, where this
// plugin uses them. Names of structs and numbers are ours; a test compares both with the headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptool::liboffload {

using ol_device = struct ol_device_record*;
using ol_platform = struct ol_platform_record*;
using ol_context = struct ol_context_record*; // since 24
using ol_queue = struct ol_queue_record*;
using ol_event = struct ol_event_record*;
using ol_program = struct ol_program_record*;
using ol_symbol = struct ol_symbol_record*;

struct ol_error {
  std::uint32_t code;
  const char* details;
};
using ol_result = const ol_error*; // null: success

struct ol_dimensions {
  std::uint32_t x, y, z;
};
struct ol_launch_size {
  std::size_t dimensions;
  ol_dimensions groups, threads;
  std::size_t memory; // dynamic, of each group's own, in bytes
};
// Init arguments, since release 23.
struct ol_init_arguments {
  std::size_t size; // of this record
  std::uint32_t count;
  const std::uint32_t* backends;
};
struct ol_launch_property {
  std::uint32_t type;
  void* data;
};

enum : std::uint32_t {
  OL_UNKNOWN = 1,
  OL_NOT_FOUND = 6,
  OL_BACKEND_FAILURE = 17,
};
enum : std::uint32_t { OL_ALLOC_HOST, OL_ALLOC_DEVICE, OL_ALLOC_MANAGED };
enum ol_backend : std::uint32_t { OL_BACKEND_CUDA = 1, OL_BACKEND_AMDGPU, OL_BACKEND_LEVEL_ZERO, OL_BACKEND_HOST };
enum : std::uint32_t { OL_PLATFORM_BACKEND = 3 };
enum ol_device_info : std::uint32_t {
  OL_DEVICE_PLATFORM = 1,
  OL_DEVICE_NAME = 2,
  OL_DEVICE_PRODUCT = 3,
  OL_DEVICE_DRIVER = 6,
  OL_DEVICE_MOST_THREADS = 7,
  OL_DEVICE_UNITS = 12,
  OL_DEVICE_MEMORY = 17,
  OL_DEVICE_TEAM_MEMORY = 18,
};
enum : std::uint32_t { OL_EVENT_IS_COMPLETE = 1 };
enum : std::uint32_t { OL_KERNEL, OL_VARIABLE };
enum : std::uint32_t { OL_VARIABLE_ADDRESS = 1, OL_VARIABLE_SIZE = 2 };
enum : std::uint32_t { OL_LOCK_MEMORY = 1, OL_UNLOCK_MEMORY = 2 };
enum : std::uint32_t { OL_LAUNCH_END, OL_LAUNCH_COOPERATIVE };

using ol_device_callback = bool (*)(ol_device, void*);

// Functions that have the same parameters in each release: X(name, parameters).
#define OMPTOOL_OL_SAME(X)                                                                                             \
  X(olIterateDevices, (ol_device_callback, void*))                                                                     \
  X(olGetPlatformInfo, (ol_platform, std::uint32_t, std::size_t, void*))                                               \
  X(olGetDeviceInfo, (ol_device, std::uint32_t, std::size_t, void*))                                                   \
  X(olGetDeviceInfoSize, (ol_device, std::uint32_t, std::size_t*))                                                     \
  X(olIsValidBinary, (ol_device, const void*, std::size_t, bool*))                                                     \
  X(olDestroyProgram, (ol_program))                                                                                    \
  X(olGetSymbol, (ol_program, const char*, std::uint32_t, ol_symbol*))                                                 \
  X(olGetSymbolInfo, (ol_symbol, std::uint32_t, std::size_t, void*))                                                   \
  X(olMemRegister, (ol_device, void*, std::size_t, std::uint32_t, void**))                                             \
  X(olMemcpy, (ol_queue, void*, ol_device, const void*, ol_device, std::size_t))                                       \
  X(olMemFill, (ol_queue, void*, std::size_t, const void*, std::size_t))                                               \
  X(olDestroyQueue, (ol_queue))                                                                                        \
  X(olSyncQueue, (ol_queue))                                                                                           \
  X(olWaitEvents, (ol_queue, ol_event*, std::size_t))                                                                  \
  X(olDestroyEvent, (ol_event))                                                                                        \
  X(olSyncEvent, (ol_event))                                                                                           \
  X(olGetEventInfo, (ol_event, std::uint32_t, std::size_t, void*))
// Function types whose parameters differ between releases. A name ends with the first release that has the type.
// library.cpp calls each function by the type of the opened library.
using olInit_22 = ol_result();
using olInit_23 = ol_result(const ol_init_arguments*);
using olCreateContext_24 = ol_result(std::size_t, ol_device*, ol_context*);
using olCreateProgram_22 = ol_result(ol_device, const void*, std::size_t, ol_program*);
using olCreateProgram_24 = ol_result(ol_context, ol_device, const void*, std::size_t, ol_program*);
using olMemAlloc_22 = ol_result(ol_device, std::uint32_t, std::size_t, void**);
using olMemAlloc_24 = ol_result(ol_context, ol_device, std::uint32_t, std::size_t, void**);
using olMemAllocHost_24 = ol_result(ol_context, ol_device, std::size_t, void**);
using olMemFree_22 = ol_result(void*);
using olMemFree_24 = ol_result(ol_context, void*);
using olMemUnregister_22 = ol_result(ol_device, void*);
using olMemUnregister_23 = ol_result(ol_device, void*, std::uint32_t);
using olCreateQueue_22 = ol_result(ol_device, ol_queue*);
using olCreateQueue_24 = ol_result(ol_context, ol_device, ol_queue*);
using olCreateEvent_22 = ol_result(ol_queue, ol_event*);
using olCreateEvent_23 = ol_result(ol_queue, std::uint32_t, ol_event*);
using olLaunchKernel_22 = ol_result(ol_queue, ol_device, ol_symbol, const void*, std::size_t, const ol_launch_size*);
using olLaunchKernel_23 = ol_result(ol_queue, ol_device, ol_symbol, const ol_launch_size*, const ol_launch_property*,
                                    std::size_t, void**, const std::size_t*);
#define OMPTOOL_OL_DIFFERING(X)                                                                                        \
  X(olInit)                                                                                                            \
  X(olCreateProgram) X(olMemAlloc) X(olMemFree) X(olMemUnregister) X(olCreateQueue) X(olCreateEvent) X(olLaunchKernel)
// Functions that only release 24 has.
#define OMPTOOL_OL_OF_24(X) X(olCreateContext) X(olMemAllocHost)

} // namespace omptool::liboffload

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares ol.h with the public header of a release of liboffload, RELEASE: it compiles where both agree on sizes,
// offsets, numbers and parameters. tests/programs/runtime/test_liboffload.py compiles it.
#include "ol.h"

#include <cstddef>
#include <offload/OffloadAPI.h>
#include <type_traits>

namespace ours = omptool::liboffload;

namespace {

template <typename Ours, typename Theirs> constexpr bool are_alike() {
  using A = std::remove_cv_t<Ours>;
  using B = std::remove_cv_t<Theirs>;
  return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
}

template <typename Ours, typename Theirs> struct Calls {
  static constexpr bool kAlike = false; // not as many parameters
};
template <typename R, typename... A, typename S, typename... B>
  requires(sizeof...(A) == sizeof...(B))
struct Calls<R(A...), S(B...)> {
  static constexpr bool kAlike = are_alike<R, S>() && (are_alike<A, B>() && ...);
};

#define SAME_CALL(name, parameters)                                                                                    \
  static_assert(Calls<ours::ol_result parameters, decltype(::name)>::kAlike, "parameters of " #name);
using namespace ours;
OMPTOOL_OL_SAME(SAME_CALL)

#define CALL_OF(name, release)                                                                                         \
  static_assert(Calls<ours::name##_##release, decltype(::name)>::kAlike, "parameters of " #name);
#if RELEASE == 22
#define SINCE_23(name) CALL_OF(name, 22)
#else
#define SINCE_23(name) CALL_OF(name, 23)
#endif
#if RELEASE < 24
#define SINCE_24(name) CALL_OF(name, 22)
#else
#define SINCE_24(name) CALL_OF(name, 24)
SINCE_24(olCreateContext)
SINCE_24(olMemAllocHost)
#endif
SINCE_23(olInit)
SINCE_23(olMemUnregister)
SINCE_23(olCreateEvent)
SINCE_23(olLaunchKernel)
SINCE_24(olCreateProgram)
SINCE_24(olMemAlloc)
SINCE_24(olMemFree)
SINCE_24(olCreateQueue)

#define SAME_RECORD(own, their) static_assert(sizeof(ours::own) == sizeof(::their), "size of " #their);
#define SAME_PLACE(own, member, their, its)                                                                            \
  static_assert(offsetof(ours::own, member) == offsetof(::their, its) &&                                               \
                    sizeof(ours::own::member) == sizeof(::their::its),                                                 \
                #their "::" #its);
SAME_RECORD(ol_error, ol_error_struct_t)
SAME_PLACE(ol_error, code, ol_error_struct_t, Code)
SAME_PLACE(ol_error, details, ol_error_struct_t, Details)
SAME_RECORD(ol_dimensions, ol_dimensions_t)
SAME_PLACE(ol_dimensions, y, ol_dimensions_t, y)
SAME_PLACE(ol_dimensions, z, ol_dimensions_t, z)
SAME_RECORD(ol_launch_size, ol_kernel_launch_size_args_t)
SAME_PLACE(ol_launch_size, dimensions, ol_kernel_launch_size_args_t, Dimensions)
SAME_PLACE(ol_launch_size, groups, ol_kernel_launch_size_args_t, NumGroups)
SAME_PLACE(ol_launch_size, threads, ol_kernel_launch_size_args_t, GroupSize)
SAME_PLACE(ol_launch_size, memory, ol_kernel_launch_size_args_t, DynSharedMemory)
#if RELEASE >= 23
SAME_RECORD(ol_init_arguments, ol_init_args_t)
SAME_PLACE(ol_init_arguments, size, ol_init_args_t, Size)
SAME_PLACE(ol_init_arguments, count, ol_init_args_t, NumPlatforms)
SAME_PLACE(ol_init_arguments, backends, ol_init_args_t, Platforms)
SAME_RECORD(ol_launch_property, ol_kernel_launch_prop_t)
SAME_PLACE(ol_launch_property, type, ol_kernel_launch_prop_t, type)
SAME_PLACE(ol_launch_property, data, ol_kernel_launch_prop_t, data)
#endif

#define SAME_NUMBER(own, their)                                                                                        \
  static_assert(static_cast<int>(ours::own) == static_cast<int>(::their), "number of " #their);
SAME_NUMBER(OL_UNKNOWN, OL_ERRC_UNKNOWN)
SAME_NUMBER(OL_NOT_FOUND, OL_ERRC_NOT_FOUND)
SAME_NUMBER(OL_BACKEND_FAILURE, OL_ERRC_BACKEND_FAILURE)
SAME_NUMBER(OL_ALLOC_HOST, OL_ALLOC_TYPE_HOST)
SAME_NUMBER(OL_ALLOC_DEVICE, OL_ALLOC_TYPE_DEVICE)
SAME_NUMBER(OL_ALLOC_MANAGED, OL_ALLOC_TYPE_MANAGED)
SAME_NUMBER(OL_BACKEND_CUDA, OL_PLATFORM_BACKEND_CUDA)
SAME_NUMBER(OL_BACKEND_AMDGPU, OL_PLATFORM_BACKEND_AMDGPU)
SAME_NUMBER(OL_BACKEND_LEVEL_ZERO, OL_PLATFORM_BACKEND_LEVEL_ZERO)
SAME_NUMBER(OL_BACKEND_HOST, OL_PLATFORM_BACKEND_HOST)
SAME_NUMBER(OL_PLATFORM_BACKEND, OL_PLATFORM_INFO_BACKEND)
SAME_NUMBER(OL_DEVICE_PLATFORM, OL_DEVICE_INFO_PLATFORM)
SAME_NUMBER(OL_DEVICE_NAME, OL_DEVICE_INFO_NAME)
SAME_NUMBER(OL_DEVICE_PRODUCT, OL_DEVICE_INFO_PRODUCT_NAME)
SAME_NUMBER(OL_DEVICE_DRIVER, OL_DEVICE_INFO_DRIVER_VERSION)
SAME_NUMBER(OL_DEVICE_MOST_THREADS, OL_DEVICE_INFO_MAX_WORK_GROUP_SIZE)
SAME_NUMBER(OL_DEVICE_UNITS, OL_DEVICE_INFO_NUM_COMPUTE_UNITS)
SAME_NUMBER(OL_DEVICE_MEMORY, OL_DEVICE_INFO_GLOBAL_MEM_SIZE)
SAME_NUMBER(OL_DEVICE_TEAM_MEMORY, OL_DEVICE_INFO_WORK_GROUP_LOCAL_MEM_SIZE)
SAME_NUMBER(OL_EVENT_IS_COMPLETE, OL_EVENT_INFO_IS_COMPLETE)
SAME_NUMBER(OL_KERNEL, OL_SYMBOL_KIND_KERNEL)
SAME_NUMBER(OL_VARIABLE, OL_SYMBOL_KIND_GLOBAL_VARIABLE)
SAME_NUMBER(OL_VARIABLE_ADDRESS, OL_SYMBOL_INFO_GLOBAL_VARIABLE_ADDRESS)
SAME_NUMBER(OL_VARIABLE_SIZE, OL_SYMBOL_INFO_GLOBAL_VARIABLE_SIZE)
#if RELEASE >= 24
SAME_NUMBER(OL_LOCK_MEMORY, OL_MEMORY_REGISTER_FLAG_LOCK_MEMORY)
SAME_NUMBER(OL_UNLOCK_MEMORY, OL_MEMORY_REGISTER_FLAG_UNLOCK_MEMORY)
SAME_NUMBER(OL_LAUNCH_END, OL_KERNEL_LAUNCH_PROP_TYPE_NONE)
SAME_NUMBER(OL_LAUNCH_COOPERATIVE, OL_KERNEL_LAUNCH_PROP_TYPE_IS_COOPERATIVE)
#endif

} // namespace

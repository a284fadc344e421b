// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loader.h"

#include <dlfcn.h>
#include <iterator>
#include <type_traits>
#include <utility>

namespace omptool::opencl {
namespace {

// An empty name: the number means nothing.
const char* name_of(cl_int error) {
  // Names of OpenCL's results from 0 down, and from -30 down. kRuntime has the first row.
  static constexpr const char* kRuntime[] = {"CL_SUCCESS",
                                             "CL_DEVICE_NOT_FOUND",
                                             "CL_DEVICE_NOT_AVAILABLE",
                                             "CL_COMPILER_NOT_AVAILABLE",
                                             "CL_MEM_OBJECT_ALLOCATION_FAILURE",
                                             "CL_OUT_OF_RESOURCES",
                                             "CL_OUT_OF_HOST_MEMORY",
                                             "CL_PROFILING_INFO_NOT_AVAILABLE",
                                             "CL_MEM_COPY_OVERLAP",
                                             "CL_IMAGE_FORMAT_MISMATCH",
                                             "CL_IMAGE_FORMAT_NOT_SUPPORTED",
                                             "CL_BUILD_PROGRAM_FAILURE",
                                             "CL_MAP_FAILURE",
                                             "CL_MISALIGNED_SUB_BUFFER_OFFSET",
                                             "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
                                             "CL_COMPILE_PROGRAM_FAILURE",
                                             "CL_LINKER_NOT_AVAILABLE",
                                             "CL_LINK_PROGRAM_FAILURE",
                                             "CL_DEVICE_PARTITION_FAILED",
                                             "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"};
  static constexpr const char* kCalls[] = {"CL_INVALID_VALUE",
                                           "CL_INVALID_DEVICE_TYPE",
                                           "CL_INVALID_PLATFORM",
                                           "CL_INVALID_DEVICE",
                                           "CL_INVALID_CONTEXT",
                                           "CL_INVALID_QUEUE_PROPERTIES",
                                           "CL_INVALID_COMMAND_QUEUE",
                                           "CL_INVALID_HOST_PTR",
                                           "CL_INVALID_MEM_OBJECT",
                                           "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
                                           "CL_INVALID_IMAGE_SIZE",
                                           "CL_INVALID_SAMPLER",
                                           "CL_INVALID_BINARY",
                                           "CL_INVALID_BUILD_OPTIONS",
                                           "CL_INVALID_PROGRAM",
                                           "CL_INVALID_PROGRAM_EXECUTABLE",
                                           "CL_INVALID_KERNEL_NAME",
                                           "CL_INVALID_KERNEL_DEFINITION",
                                           "CL_INVALID_KERNEL",
                                           "CL_INVALID_ARG_INDEX",
                                           "CL_INVALID_ARG_VALUE",
                                           "CL_INVALID_ARG_SIZE",
                                           "CL_INVALID_KERNEL_ARGS",
                                           "CL_INVALID_WORK_DIMENSION",
                                           "CL_INVALID_WORK_GROUP_SIZE",
                                           "CL_INVALID_WORK_ITEM_SIZE",
                                           "CL_INVALID_GLOBAL_OFFSET",
                                           "CL_INVALID_EVENT_WAIT_LIST",
                                           "CL_INVALID_EVENT",
                                           "CL_INVALID_OPERATION",
                                           "CL_INVALID_GL_OBJECT",
                                           "CL_INVALID_BUFFER_SIZE",
                                           "CL_INVALID_MIP_LEVEL",
                                           "CL_INVALID_GLOBAL_WORK_SIZE",
                                           "CL_INVALID_PROPERTY",
                                           "CL_INVALID_IMAGE_DESCRIPTOR",
                                           "CL_INVALID_COMPILER_OPTIONS",
                                           "CL_INVALID_LINKER_OPTIONS",
                                           "CL_INVALID_DEVICE_PARTITION_COUNT",
                                           "CL_INVALID_PIPE_SIZE",
                                           "CL_INVALID_DEVICE_QUEUE",
                                           "CL_INVALID_SPEC_ID",
                                           "CL_MAX_SIZE_RESTRICTION_EXCEEDED"};
  constexpr cl_int kFirstOfCalls = -30;
  const auto number =
      static_cast<std::size_t>(error > kFirstOfCalls ? -std::int64_t{error} : std::int64_t{kFirstOfCalls} - error);
  if (error > kFirstOfCalls)
    return error <= 0 && number < std::size(kRuntime) ? kRuntime[number] : "";
  return number < std::size(kCalls) ? kCalls[number] : "";
}

} // namespace

bool open_loader(Loader& loader, std::string& why) {
  // Opens the library for good: its drivers have threads.
  void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const reason = ::dlerror();
    why = std::string("the loader of OpenCL's drivers cannot be opened: ") + (reason ? reason : "libOpenCL.so.1");
    return false;
  }
  bool is_whole = true;
  const auto find = [&](const char* name, auto& function, bool is_required) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function && is_required && std::exchange(is_whole, false))
      why = std::string("libOpenCL.so.1 lacks ") + name;
  };
#define OMPTOOL_CL_FIND(name, result, parameters) find(#name, loader.name, true);
  OMPTOOL_CL_REQUIRED(OMPTOOL_CL_FIND)
#undef OMPTOOL_CL_FIND
#define OMPTOOL_CL_FIND(name, result, parameters) find(#name, loader.name, false);
  OMPTOOL_CL_OPTIONAL(OMPTOOL_CL_FIND)
#undef OMPTOOL_CL_FIND
  return is_whole;
}

Extensions extensions_of(const Loader& loader, cl_platform_id platform) {
  Extensions all;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        loader.clGetExtensionFunctionAddressForPlatform(platform, name));
  };
#define OMPTOOL_CL_FIND(name, result, parameters) find(#name, all.name);
  OMPTOOL_CL_EXTENSIONS(OMPTOOL_CL_FIND)
#undef OMPTOOL_CL_FIND
  return all;
}

cl_int status_of(const Loader& loader, cl_event event) {
  cl_int status = CL_COMPLETE;
  const cl_int error = loader.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return error == CL_SUCCESS ? status : error;
}

cl_int wait_for(const Loader& loader, cl_event event) {
  const cl_int error = loader.clWaitForEvents(1, &event);
  const cl_int status = status_of(loader, event); // it says more
  return status > CL_COMPLETE ? error : status;
}

std::string failure_of(const char* call, cl_int error) {
  const std::string name = name_of(error);
  return std::string(call) + ": " + (name.empty() ? "error" : name) + " (" + std::to_string(error) + ")";
}

} // namespace omptool::opencl

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FAKE: a loader of OpenCL's drivers whose calls fail. All other calls go to the real loader and its drivers, so that
// kernels run.
//
//   FAKE_CL_LOADER=FILE     the real one
//   FAKE_CL_FAIL_AT=N       the N-th call that can fail does, counted from 1
//   FAKE_CL_FAIL_ON=1       and so does every call after it
//   FAKE_CL_FAIL_IN=name    the calls of this function only
//   FAKE_CL_FAIL_WITH=N     the error, -5 (CL_OUT_OF_RESOURCES) if not set
//   FAKE_CL_SYSTEM=0        devices reach none of the host's memory but what the driver has allocated
//   FAKE_CL_FAULT=1         kernels have failed with that error, when somebody waits for them
//
// A call that fails says "FAKE: call N, name" on stderr. Those that wait, that release something or that have work
// begin are made first: what the driver has begun goes on, whatever is said of it.
#include "cl.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <string_view>
#include <type_traits>

namespace {

using namespace omptool::opencl;

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtol(value, nullptr, 10) : otherwise;
}

cl_int error() {
  static const cl_int number = static_cast<cl_int>(number_in("FAKE_CL_FAIL_WITH", -5));
  return number;
}

// Returns whether this call is one that fails.
bool fails(const char* name) {
  static const long at = number_in("FAKE_CL_FAIL_AT", 0);
  static const bool stays = number_in("FAKE_CL_FAIL_ON", 0) != 0;
  static const char* const only = std::getenv("FAKE_CL_FAIL_IN");
  static std::atomic<long> calls{0};
  if (only && std::string_view(only) != name)
    return false;
  const long number = ++calls;
  if (at == 0 || (stays ? number < at : number != at))
    return false;
  if (number == at)
    std::fprintf(stderr, "FAKE: call %ld, %s\n", number, name);
  return true;
}

void* loader() {
  static void* const library = [] {
    const char* const path = std::getenv("FAKE_CL_LOADER");
    return ::dlopen(path ? path : "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  }();
  return library;
}

// The real function of this name: the loader's, or that of an extension, once a program has asked for it.
template <typename Name> void*& real() {
  static void* function = loader() ? ::dlsym(loader(), Name::kText) : nullptr;
  return function;
}

// Errors of calls that return objects are in their last parameter.
void set_error(cl_int* to) {
  if (to)
    *to = error();
}
template <typename Last> void set_error(Last) {}

template <typename Name, typename Type> struct Function;
template <typename Name, typename Result, typename... Parameters> struct Function<Name, Result(Parameters...)> {
  using Type = Result (*)(Parameters...);

  static Result call(Parameters... parameters) {
    const auto function = reinterpret_cast<Type>(real<Name>());
    if constexpr (std::is_void_v<Result>) {
      function(parameters...);
    } else {
      if (!function || (!is_made_first() && fails(Name::kText)))
        return failed(parameters...);
      const Result result = function(parameters...);
      return is_made_first() && fails(Name::kText) ? failed(parameters...) : result;
    }
  }

private:
  static bool is_made_first() {
    const std::string_view name = Name::kText;
    return name.find("Release") != name.npos || name == "clWaitForEvents" || name == "clFlush" ||
           name == "clMemFreeINTEL";
  }
  static Result failed(Parameters... parameters) {
    (set_error(parameters), ...);
    if constexpr (std::is_pointer_v<Result>)
      return nullptr;
    else
      return static_cast<Result>(error());
  }
};

#define NAME(name, result, parameters)                                                                                 \
  struct name##_ {                                                                                                     \
    static constexpr const char* kText = #name;                                                                        \
  };                                                                                                                   \
  using name##_function = Function<name##_, result parameters>;
OMPTOOL_CL_REQUIRED(NAME)
OMPTOOL_CL_OPTIONAL(NAME)
OMPTOOL_CL_EXTENSIONS(NAME)

// Guards the events of kernels that fault; they stay, because handles are reused.
std::mutex mutex;
std::set<cl_event> faulty;

bool has_fault(cl_event event) {
  const std::lock_guard lock(mutex);
  return faulty.count(event) != 0;
}

cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const std::size_t* first,
              const std::size_t* all, const std::size_t* threads, cl_uint count, const cl_event* before,
              cl_event* event) {
  static const bool is_set = number_in("FAKE_CL_FAULT", 0) != 0;
  const cl_int result =
      clEnqueueNDRangeKernel_function::call(queue, kernel, dimensions, first, all, threads, count, before, event);
  const std::lock_guard lock(mutex);
  if (is_set && result == CL_SUCCESS && event)
    faulty.insert(*event);
  return result;
}

// The extension's function in place of the platform's own.
void* extension_of(cl_platform_id platform, const char* name) {
  void* const found = clGetExtensionFunctionAddressForPlatform_function::call(platform, name);
#define WRAP(extension, result, parameters)                                                                            \
  if (found && std::strcmp(name, #extension) == 0) {                                                                   \
    real<extension##_>() = found;                                                                                      \
    return reinterpret_cast<void*>(&extension##_function::call);                                                       \
  }
  OMPTOOL_CL_EXTENSIONS(WRAP)
  return found;
}

cl_int describe(cl_device_id device, cl_uint what, std::size_t size, void* to, std::size_t* needed) {
  static const bool is_reached = number_in("FAKE_CL_SYSTEM", 1) != 0;
  const cl_int result = clGetDeviceInfo_function::call(device, what, size, to, needed);
  if (!is_reached && result == CL_SUCCESS && to && what == CL_DEVICE_SVM_CAPABILITIES)
    *static_cast<cl_bitfield*>(to) &= ~CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
  if (!is_reached && result == CL_SUCCESS && to && what == CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL)
    *static_cast<cl_bitfield*>(to) = 0;
  return result;
}

cl_int wait(cl_uint count, const cl_event* events) {
  const cl_int result = clWaitForEvents_function::call(count, events);
  const bool has_failed = std::any_of(events, events + count, has_fault);
  return has_failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : result;
}

cl_int look_at_event(cl_event event, cl_uint what, std::size_t size, void* to, std::size_t* needed) {
  const cl_int result = clGetEventInfo_function::call(event, what, size, to, needed);
  if (has_fault(event) && what == CL_EVENT_COMMAND_EXECUTION_STATUS)
    *static_cast<cl_int*>(to) = error();
  return result;
}

struct Notice {
  cl_event_callback callback;
  void* data;
};

void notify(cl_event event, cl_int status, void* data) {
  const Notice notice = *static_cast<Notice*>(data);
  delete static_cast<Notice*>(data);
  notice.callback(event, has_fault(event) ? error() : status, notice.data);
}

cl_int notice_event(cl_event event, cl_int status, cl_event_callback callback, void* data) {
  Notice* const notice = new Notice{callback, data};
  const cl_int result = clSetEventCallback_function::call(event, status, notify, notice);
  if (result != CL_SUCCESS)
    delete notice;
  return result;
}

} // namespace

// Any function: dlsym finds the function above by the name of each; those that differ from the others come first.
using Anything = void (*)();
#define EXPORT(name, function)                                                                                         \
  extern "C" {                                                                                                         \
  [[maybe_unused]] static Anything find_##name() {                                                                     \
    return reinterpret_cast<Anything>(function);                                                                       \
  }                                                                                                                    \
  __attribute__((visibility("default"), ifunc("find_" #name))) void name();                                            \
  }
#define EXPORT_AS_IT_IS(name, result, parameters) EXPORT(name, pick_##name())

#define PICK(name, result, parameters)                                                                                 \
  [[maybe_unused]] static Anything pick_##name() {                                                                     \
    return pick(std::string_view(#name), reinterpret_cast<Anything>(&name##_function::call));                          \
  }
static Anything pick(std::string_view name, Anything otherwise) {
  if (name == "clGetExtensionFunctionAddressForPlatform")
    return reinterpret_cast<Anything>(&extension_of);
  if (name == "clGetDeviceInfo")
    return reinterpret_cast<Anything>(&describe);
  if (name == "clEnqueueNDRangeKernel")
    return reinterpret_cast<Anything>(&launch);
  if (name == "clWaitForEvents")
    return reinterpret_cast<Anything>(&wait);
  if (name == "clGetEventInfo")
    return reinterpret_cast<Anything>(&look_at_event);
  return name == "clSetEventCallback" ? reinterpret_cast<Anything>(&notice_event) : otherwise;
}
OMPTOOL_CL_REQUIRED(PICK)
OMPTOOL_CL_OPTIONAL(PICK)
OMPTOOL_CL_REQUIRED(EXPORT_AS_IT_IS)
OMPTOOL_CL_OPTIONAL(EXPORT_AS_IT_IS)

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "discovery.h"

#include "loader.h"

#include <algorithm>
#include <string_view>

namespace omptool::opencl {
namespace {

// Returns a number of the device, or 0 if the driver does not answer.
template <typename T> T number_of(const Loader& cl, cl_device_id device, cl_uint what) {
  T value{};
  return cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : T{};
}

template <typename Get> std::string text_of(const Get& get) {
  std::size_t size = 0;
  if (get(0, nullptr, &size) != CL_SUCCESS || size == 0)
    return {};
  std::string text(size, '\0');
  if (get(size, text.data(), nullptr) != CL_SUCCESS)
    return {};
  text.resize(std::min(text.find('\0'), text.size()));
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string text_of(const Loader& cl, cl_device_id device, cl_uint what) {
  return text_of([&](std::size_t size, void* to, std::size_t* needed) {
    return cl.clGetDeviceInfo(device, what, size, to, needed);
  });
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1))
    if ((at == 0 || words[at - 1] == ' ') && (at + word.size() == words.size() || words[at + word.size()] == ' '))
      return true;
  return false;
}

// Returns the last word that names a version of SPIR-V, or "".
std::string latest_spirv(const std::string& versions) {
  const std::size_t at = versions.rfind("SPIR-V");
  return at == std::string::npos ? "" : versions.substr(at, versions.find(' ', at) - at);
}

struct Memories {
  bool usm, svm, shared;
};

Memories memories_of(const Loader& cl, const Found& found, const std::string& extensions) {
  const auto svm = number_of<cl_bitfield>(cl, found.device, CL_DEVICE_SVM_CAPABILITIES);
  const auto system = number_of<cl_bitfield>(cl, found.device, CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL);
  const Extensions& own = found.extensions;
  const bool can_tell = cl.clSetKernelExecInfo;
  return {can_tell && has_word(extensions, "cl_intel_unified_shared_memory") && own.clHostMemAllocINTEL &&
              own.clDeviceMemAllocINTEL && own.clSharedMemAllocINTEL && own.clMemFreeINTEL &&
              own.clEnqueueMemcpyINTEL && own.clEnqueueMemFillINTEL,
          can_tell && (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) && cl.clSVMAlloc && cl.clSVMFree &&
              cl.clEnqueueSVMMemcpy && cl.clEnqueueSVMMemFill,
          can_tell && ((svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) || (system & CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL))};
}

// Returns whether the host's and the device's memory are one, so that a copy is a detour.
bool shares_usm(const Loader& cl, cl_device_id device) {
  constexpr cl_bitfield kBoth =
      CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL;
  const auto shared = number_of<cl_bitfield>(cl, device, CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL);
  return number_of<cl_bool>(cl, device, CL_DEVICE_HOST_UNIFIED_MEMORY) && (shared & kBoth) == kBoth;
}

// Returns why the device cannot be used, or "".
std::string choose_memory(const Loader& cl, const std::string& extensions, Found& found) {
  const Memories has = memories_of(cl, found, extensions);
  const MemoryKind wanted = wanted_memory();
  found.memory = wanted != MemoryKind::kAny ? wanted : has.usm ? MemoryKind::kUsm : MemoryKind::kSvm;
  found.reaches_host_memory = has.shared;
  switch (found.memory) {
  case MemoryKind::kUsm:
  case MemoryKind::kDevice:
    if (!has.usm)
      return "it lacks unified shared memory (cl_intel_unified_shared_memory)";
    break;
  case MemoryKind::kShared:
    if (!has.shared)
      return "it does not reach the host's memory (fine-grained system SVM)";
    break;
  default:
    if (!has.svm)
      return "it has neither fine-grained SVM nor unified shared memory (cl_intel_unified_shared_memory)";
  }
  found.is_direct = found.memory == MemoryKind::kSvm || found.memory == MemoryKind::kShared ||
                    (found.memory == MemoryKind::kUsm && shares_usm(cl, found.device));
  const auto svm = number_of<cl_bitfield>(cl, found.device, CL_DEVICE_SVM_CAPABILITIES);
  found.lists_svm = found.memory == MemoryKind::kSvm && !(svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM);
  found.has_svm_atomics = svm & CL_DEVICE_SVM_ATOMICS;
  return {};
}

std::string describe(const Loader& cl, Found& found) {
  found.name = text_of(cl, found.device, CL_DEVICE_NAME);
  found.driver = text_of(cl, found.device, CL_DRIVER_VERSION);
  found.is_cpu = number_of<cl_bitfield>(cl, found.device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
  found.units = number_of<cl_uint>(cl, found.device, CL_DEVICE_MAX_COMPUTE_UNITS);
  found.global_memory = number_of<cl_ulong>(cl, found.device, CL_DEVICE_GLOBAL_MEM_SIZE);
  found.largest_block = number_of<cl_ulong>(cl, found.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  found.team_memory = number_of<cl_ulong>(cl, found.device, CL_DEVICE_LOCAL_MEM_SIZE);
  found.most_threads = number_of<std::size_t>(cl, found.device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  found.spirv = latest_spirv(text_of(cl, found.device, CL_DEVICE_IL_VERSION));
  if (!number_of<cl_bool>(cl, found.device, CL_DEVICE_AVAILABLE))
    return "it is not available";
  if (number_of<cl_uint>(cl, found.device, CL_DEVICE_ADDRESS_BITS) != 64)
    return "its addresses are not of 64 bits";
  if (found.spirv.empty() || !(cl.clCreateProgramWithIL || found.extensions.clCreateProgramWithILKHR))
    return "it takes no SPIR-V";
  return choose_memory(cl, text_of(cl, found.device, CL_DEVICE_EXTENSIONS), found);
}

void note(std::string& why, const std::string& more) {
  why += (why.empty() ? "" : "; ") + more;
}

void find_in(const Loader& cl, cl_platform_id platform, std::vector<Found>& all, std::string& why) {
  const std::string name = text_of([&](std::size_t size, void* to, std::size_t* needed) {
    return cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, to, needed);
  });
  cl_uint count = 0;
  if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0)
    return note(why, name + " has no device");
  std::vector<cl_device_id> devices(count);
  if (const cl_int error = cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr))
    return note(why, name + ": " + failure_of("clGetDeviceIDs", error));
  for (const cl_device_id device : devices) {
    Found found{};
    found.platform = platform;
    found.device = device;
    found.extensions = extensions_of(cl, platform);
    if (const std::string fault = describe(cl, found); fault.empty())
      all.push_back(std::move(found));
    else
      note(why, found.name + " of " + name + " is not used: " + fault);
  }
}

} // namespace

std::vector<Found> find_devices(const Loader& loader, std::string& why) {
  std::vector<Found> all;
  cl_uint count = 0;
  const cl_int error = loader.clGetPlatformIDs(0, nullptr, &count);
  if (error != CL_SUCCESS || count == 0) {
    constexpr cl_int kNone = -1001; // CL_PLATFORM_NOT_FOUND_KHR
    why = error == CL_SUCCESS || error == kNone ? "OpenCL's loader finds no driver"
                                                : failure_of("clGetPlatformIDs", error);
    return all;
  }
  std::vector<cl_platform_id> platforms(count);
  if (loader.clGetPlatformIDs(count, platforms.data(), nullptr) == CL_SUCCESS)
    for (const cl_platform_id platform : platforms)
      find_in(loader, platform, all, why);
  return all;
}

} // namespace omptool::opencl

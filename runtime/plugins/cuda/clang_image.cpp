// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "clang_image.h"

#include "common/calls.h"
#include "gpu/settings.h"
#include "region_name.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace omptool::cuda {
namespace {

// Device environment of clang 18 and later. Earlier releases have a prefix of it.
struct DeviceEnvironment {
  std::uint32_t debug, devices, device, dynamic_memory;
  std::uint64_t clock_frequency;
  std::uint64_t indirect_calls, indirect_calls_size;
  std::uint64_t parallelism;
};
constexpr char kEnvironment[] = "__omp_rtl_device_environment";

// Indirect call: a host address and its device address. Kernels look up the exact address, so the table is sorted by
// host addresses and has one row for each word of a virtual table, because objects point into their tables.
struct IndirectCall {
  std::uint64_t host, device;
  bool operator==(const IndirectCall& other) const = default;
  bool operator<(const IndirectCall& other) const { return host < other.host; }
};
constexpr std::uint64_t kMostIndirectCalls = 1U << 20; // more is a damaged table, not a program

constexpr std::uint64_t kClock = 1'000'000'000; // of %globaltimer

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

long priority_of(const std::string& name) {
  return std::atol(name.c_str() + name.rfind('_') + 1);
}

} // namespace

std::vector<std::string> names_with(Bytes image, std::string_view prefix) {
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  std::vector<std::string> names;
  for (std::size_t at = text.find(prefix); at != std::string_view::npos; at = text.find(prefix, at + 1)) {
    std::size_t end = at;
    while (end < text.size() && is_of_name(text[end]))
      ++end;
    const std::string name(text.substr(at, end - at));
    if ((at == 0 || !is_of_name(text[at - 1])) && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(priority_of(a), std::string_view(a)) < std::pair(priority_of(b), std::string_view(b));
  });
  return names;
}

bool ClangImage::find(const std::string& name, CUdeviceptr& address, std::size_t& size) const {
  address = 0;
  const Outcome outcome = OMPTOOL_CUDA(context_.driver, cuModuleGetGlobal_v2, &address, &size, module_, name.c_str());
  if (outcome.ok())
    return true;
  address = 0;
  if (outcome.result == CUDA_ERROR_NOT_FOUND)
    return true;
  fail_of(context_.driver, outcome, "variable " + name);
  return false;
}

bool ClangImage::read(CUdeviceptr from, void* to, std::size_t size, const std::string& name) {
  const Outcome outcome = OMPTOOL_CUDA(context_.driver, cuMemcpyDtoH_v2, to, from, size);
  if (!outcome.ok())
    fail_of(context_.driver, outcome, "variable " + name);
  return outcome.ok();
}

bool ClangImage::write(CUdeviceptr to, const void* from, std::size_t size, const std::string& name) {
  const Outcome outcome = OMPTOOL_CUDA(context_.driver, cuMemcpyHtoD_v2, to, from, size);
  if (!outcome.ok())
    fail_of(context_.driver, outcome, "variable " + name);
  return outcome.ok();
}

bool ClangImage::set_environment(const DeviceLimits& device, std::int32_t number, std::int32_t count, bool& is_clangs) {
  DeviceEnvironment environment{};
  environment.debug = debug_kind();
  environment.devices = static_cast<std::uint32_t>(count);
  environment.device = static_cast<std::uint32_t>(number);
  environment.dynamic_memory = static_cast<std::uint32_t>(clang_settings().memory);
  environment.clock_frequency = kClock;
  environment.parallelism = static_cast<std::uint64_t>(device.units) *
                            static_cast<std::uint64_t>(device.threads_of_unit / std::max(device.warp, 1));
  is_clangs = false;
  for (const char* const name : {kEnvironment, "omptarget_device_environment"}) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    if (!find(name, address, size))
      return false;
    if (!address)
      continue;
    is_clangs = true;
    if (!write(address, &environment, std::min(size, sizeof environment), name))
      return false;
  }
  return true;
}

bool ClangImage::read_kernel(const std::string& name, std::optional<ClangKernel>& kernel) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  const std::string environment_name = name + "_kernel_environment", mode_name = name + "_exec_mode";
  if (!find(environment_name, address, size))
    return false;
  if (address) {
    KernelEnvironment environment{};
    if (!read(address, &environment, std::min(size, sizeof environment), environment_name))
      return false;
    kernel = clang_kernel_of(environment, size);
    return true;
  }
  if (!find(mode_name, address, size))
    return false;
  std::uint8_t mode = 0;
  if (address && !read(address, &mode, sizeof mode, mode_name))
    return false;
  if (address)
    kernel = clang_kernel_of(mode);
  return true;
}

bool ClangImage::set_indirect_calls(std::span<const IndirectEntry> entries, CUdeviceptr& table) {
  table = 0;
  std::vector<IndirectCall> calls;
  for (const IndirectEntry& entry : entries) {
    CUdeviceptr there = 0;
    if (!read(entry.pointer, &there, sizeof there, entry.name))
      return false;
    if (entry.size / sizeof there > kMostIndirectCalls - calls.size()) {
      fail("global " + std::string(entry.name) + " of " + std::to_string(entry.size) +
           " bytes makes more than 1048576 indirect calls");
      return false;
    }
    for (std::uint64_t at = 0; there && at + sizeof there <= entry.size; at += sizeof there)
      calls.push_back({entry.host + at, there + at});
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end()); // of a class in a header
  CUdeviceptr environment = 0;
  std::size_t size = 0;
  if (calls.empty())
    return true;
  if (!find(kEnvironment, environment, size))
    return false;
  if (!environment || size < offsetof(DeviceEnvironment, parallelism)) // of a clang that looks nothing up
    return true;
  const std::size_t bytes = calls.size() * sizeof(IndirectCall);
  const Outcome outcome =
      context_.taking_memory([&] { return OMPTOOL_CUDA(context_.driver, cuMemAlloc_v2, &table, bytes); });
  if (!outcome.ok()) {
    table = 0;
    fail_of(context_.driver, outcome, "the table of indirect calls");
    return false;
  }
  const std::uint64_t words[] = {table, calls.size()};
  return write(table, calls.data(), bytes, "the table of indirect calls") &&
         write(environment + offsetof(DeviceEnvironment, indirect_calls), words, sizeof words, kEnvironment);
}

// Runs an image's constructors or destructors. The compiler stores one address for each function, and a kernel that
// calls the functions of an array. This function makes that array.
bool ClangImage::run_functions(const char* which, const std::vector<std::string>& names) {
  const Driver& driver = context_.driver;
  const std::string variable = std::string("__") + which + "_array";
  std::vector<CUdeviceptr> functions;
  CUdeviceptr address = 0, start = 0, end = 0, array = 0;
  std::size_t size = 0;
  for (const std::string& name : names) {
    CUdeviceptr function = 0;
    if (!find(name, address, size) || (address && !read(address, &function, sizeof function, name)))
      return false;
    if (address)
      functions.push_back(function);
  }
  if (functions.empty())
    return true;
  const std::string kernel = std::string("nvptx$device$") + which;
  CUfunction function = nullptr;
  Outcome outcome = OMPTOOL_CUDA(driver, cuModuleGetFunction, &function, module_, kernel.c_str());
  if (outcome.result == CUDA_ERROR_NOT_FOUND)
    return true;
  if (!find(variable + "_start", start, size) || !find(variable + "_end", end, size))
    return false;
  const std::size_t bytes = functions.size() * sizeof(CUdeviceptr);
  if (outcome.ok())
    outcome = context_.taking_memory([&] { return OMPTOOL_CUDA(driver, cuMemAlloc_v2, &array, bytes); });
  const CUdeviceptr array_end = array + bytes;
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuMemcpyHtoD_v2, array, functions.data(), bytes);
  if (outcome.ok() && start)
    outcome = OMPTOOL_CUDA(driver, cuMemcpyHtoD_v2, start, &array, sizeof array);
  if (outcome.ok() && end)
    outcome = OMPTOOL_CUDA(driver, cuMemcpyHtoD_v2, end, &array_end, sizeof array_end);
  const auto memory = static_cast<unsigned>(clang_settings().memory); // as regions have it
  if (outcome.ok() && memory)
    outcome = OMPTOOL_CUDA(driver, cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                           static_cast<int>(memory));
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, memory, nullptr, nullptr, nullptr);
  if (outcome.ok())
    outcome = OMPTOOL_CUDA(driver, cuStreamSynchronize, nullptr);
  if (array)
    driver.cuMemFree_v2(array);
  if (!outcome.ok())
    fail_of(driver, outcome, "kernel " + region_name(kernel));
  return outcome.ok();
}

} // namespace omptool::cuda

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "discovery.h"

#include "settings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace omptool::liboffload {
namespace {

// Returns a number of 4 or 8 bytes, or 0 if the library does not answer.
std::uint64_t number_of(const Library& library, ol_device device, std::uint32_t what) {
  std::size_t size = 0;
  std::uint64_t value = 0;
  const bool is_known = !library.olGetDeviceInfoSize(device, what, &size) && size <= sizeof value &&
                        !library.olGetDeviceInfo(device, what, size, &value);
  return is_known ? value : 0;
}

std::string text_of(const Library& library, ol_device device, std::uint32_t what) {
  std::size_t size = 0;
  if (library.olGetDeviceInfoSize(device, what, &size) || size == 0 || size > 4096)
    return {};
  std::string text(size, '\0');
  if (library.olGetDeviceInfo(device, what, size, text.data()))
    return {};
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

// Code of clang's for processors before gfx10 has 64 lanes, later 32.
int warp_of(const Found& found) {
  constexpr std::size_t kBeforeGfx10 = sizeof "gfx90a" - 1;
  const std::string name = found.architecture.substr(0, found.architecture.find(':'));
  return found.backend == OL_BACKEND_AMDGPU && name.size() <= kBeforeGfx10 ? 64 : 32;
}

Found described(const Library& library, ol_device device, ol_platform platform, std::uint32_t backend) {
  Found found{};
  found.device = device;
  found.platform = platform;
  found.backend = backend;
  const std::string name = text_of(library, device, OL_DEVICE_NAME);
  found.name = text_of(library, device, OL_DEVICE_PRODUCT);
  if (backend == OL_BACKEND_AMDGPU)
    found.architecture = name;
  if (found.name.empty())
    found.name = name;
  const std::string driver = text_of(library, device, OL_DEVICE_DRIVER);
  found.driver = "liboffload " + std::to_string(library.release()) + (driver.empty() ? "" : ", driver " + driver);
  found.units = static_cast<std::uint32_t>(number_of(library, device, OL_DEVICE_UNITS));
  found.memory = number_of(library, device, OL_DEVICE_MEMORY);
  found.team_memory = number_of(library, device, OL_DEVICE_TEAM_MEMORY);
  found.most_threads = static_cast<std::uint32_t>(number_of(library, device, OL_DEVICE_MOST_THREADS));
  found.warp = warp_of(found);
  return found;
}

struct Search {
  const Library& library;
  Everything all;
};

bool take(ol_device device, void* data) {
  Search& search = *static_cast<Search*>(data);
  ol_platform platform = nullptr;
  std::uint32_t backend = 0;
  const Library& library = search.library;
  if (library.olGetDeviceInfo(device, OL_DEVICE_PLATFORM, sizeof platform, &platform) ||
      library.olGetPlatformInfo(platform, OL_PLATFORM_BACKEND, sizeof backend, &backend))
    return true;
  if (backend == OL_BACKEND_HOST)
    search.all.host = device;
  else if (is_wanted(backend))
    search.all.devices.push_back(described(library, device, platform, backend));
  return true;
}

// In the order of causes: the GPU and its driver, the user's rights, the driver's library.
std::string fault_of_amd() {
  std::string fault = fault_of_node(kNode);
  if (!fault.empty())
    return fault;
  constexpr char kDriver[] = "libhsa-runtime64.so"; // as liboffload opens it
  if (::dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL))
    return "it finds no AMD GPU";
  const char* const reason = ::dlerror();
  return std::string("AMD's library cannot be opened (") + (reason ? reason : kDriver) +
         "): install ROCm's hsa-rocr, or Debian's libhsa-runtime-dev";
}

} // namespace

std::string fault_of_node(const char* path) {
  if (::access(path, F_OK) != 0)
    return std::string("no AMD GPU: there is no ") + path + ", which the kernel's driver amdgpu makes";
  if (::access(path, R_OK | W_OK) != 0)
    return std::string(path) + ": " + std::strerror(errno) + "; the user needs the group that owns it (render)";
  return {};
}

Everything find_devices(const Library& library, std::string& why) {
  const std::string named = "liboffload " + std::to_string(library.release());
  const std::vector<std::uint32_t>& wanted = wanted_backends();
  if (const ol_result failed = library.init(wanted.data(), static_cast<std::uint32_t>(wanted.size()))) {
    why = failure_of("olInit", failed);
    return {};
  }
  Search search{library, {}};
  const ol_result failed = library.olIterateDevices(take, &search);
  std::vector<Found>& devices = search.all.devices;
  if (failed)
    why = failure_of("olIterateDevices", failed);
  else if (!devices.empty() && !search.all.host)
    why = named + " has no device for the host";
  else if (devices.empty())
    why = (is_wanted(OL_BACKEND_AMDGPU) ? fault_of_amd() : "it finds no GPU") + " (" + named + ")";
  if (!why.empty())
    devices.clear();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].number = static_cast<std::int32_t>(i);
    devices[i].count = static_cast<std::int32_t>(devices.size());
  }
  return std::move(search.all);
}

} // namespace omptool::liboffload

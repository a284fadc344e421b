// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload.h"

#include "default_device.h"
#include "environment.h"
#include "launch.h"
#include "message.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>

namespace omptool {
namespace {

constexpr std::int32_t kOnHost = -1; // what LLVM's runtime returns, too
constexpr std::int64_t kDefaultDevice = -1;
constexpr std::int64_t kEveryDevice = -2;
constexpr std::int64_t kUsedDevices = -3;

std::string name_of(const void* host_address, const Kernel* kernel) {
  if (kernel)
    return kernel->name;
  char text[32];
  std::snprintf(text, sizeof text, "at %p", host_address);
  return text;
}

bool disabled() {
  return environment().policy == OffloadPolicy::kDisabled;
}
bool mandatory() {
  return environment().policy == OffloadPolicy::kMandatory;
}

// One line per region and process.
bool first_time(const void* host_address) {
  static std::mutex& mutex = *new std::mutex;
  static std::unordered_set<const void*>& told = *new std::unordered_set<const void*>;
  const std::lock_guard lock(mutex);
  return told.insert(host_address).second;
}

std::int32_t fall_back(const void* host_address, const Kernel* kernel, const std::string& reason) {
  if (mandatory())
    die("region %s cannot run on a device, and OMP_TARGET_OFFLOAD is MANDATORY: %s",
        name_of(host_address, kernel).c_str(), reason.c_str());
  if (!environment().quiet && first_time(host_address))
    say("region %s runs on the host: %s", name_of(host_address, kernel).c_str(), reason.c_str());
  return kOnHost;
}

// A device that a call can use, or why not. Neither: the program asked for the host.
struct Selected {
  Device* device = nullptr;
  std::string reason;
};

Selected select(std::int64_t device_id) {
  Registry* registry = Registry::current();
  if (!registry)
    return {nullptr, Registry::lost_by_fork() ? "the process has forked since it registered its images"
                                              : "no library has registered images"};
  const int count = registry->device_count();
  const std::int64_t number = device_id == kDefaultDevice ? default_device() : device_id;
  if (count == 0)
    return {nullptr, registry->reason_for_none()};
  if (number == count)
    return {};
  if (number < 0 || number > count)
    return {nullptr, "device number " + std::to_string(number) + " is out of range: there are " +
                         std::to_string(count) + " devices"};
  Device& device = *registry->device(static_cast<int>(number));
  if (!registry->prepare(device))
    return {nullptr, registry->reason_of(device)};
  return {&device, {}};
}

std::int32_t run_on(Device& device, const void* host_address, Rows rows, LaunchShape shape) {
  const Resolved kernel = Registry::current()->resolve(host_address, device);
  const std::string reason = kernel.function ? launch(device, kernel, rows, shape) : kernel.reason;
  if (reason.empty())
    return 0;
  device.data.make_host_current(rows, kernel.kernel ? kernel.kernel->globals() : std::vector<HostRange>{});
  return fall_back(host_address, kernel.kernel.get(), reason);
}

// The caller's arrays may be gone by the time a device is first used.
std::vector<Row> kept(Rows rows) {
  std::vector<Row> copy(rows.begin(), rows.end());
  for (Row& row : copy)
    row.flags &= ~static_cast<std::uint32_t>(kReturn);
  return copy;
}

// A constructor of device variables: without it the library's other regions must not run here.
void run_constructor(Device& device, const void* host_address, Rows rows) {
  Registry& registry = *Registry::current();
  const Resolved kernel = registry.resolve(host_address, device);
  if (!kernel.kernel)
    return;
  std::string reason = kernel.function ? launch(device, kernel, rows, {}) : kernel.reason;
  if (reason.empty())
    return;
  reason = "the constructor " + kernel.kernel->name + " could not run there: " + reason;
  registry.mark_unusable(*kernel.kernel, device, reason);
}

void on_data(std::int64_t device_id, Rows rows, void (*action)(Device&, Rows)) {
  if (disabled())
    return;
  Registry* registry = Registry::current();
  if (registry && device_id == kEveryDevice) {
    registry->defer({[action, copy = kept(rows)](Device& device) { action(device, copy); }, nullptr});
    return;
  }
  if (registry && device_id == kUsedDevices) {
    for (Device* device : registry->used_devices(nullptr))
      action(*device, rows);
    return;
  }
  const Selected selected = select(device_id);
  if (selected.device)
    action(*selected.device, rows);
  else if (mandatory() && !selected.reason.empty())
    die("data cannot be mapped, and OMP_TARGET_OFFLOAD is MANDATORY: %s", selected.reason.c_str());
}

} // namespace

std::int32_t run_region(std::int64_t device_id, const void* host_address, Rows rows, LaunchShape shape) {
  Registry* registry = Registry::current();
  if (device_id == kEveryDevice) {
    if (registry && !disabled())
      registry->defer(
          {[host_address, copy = kept(rows)](Device& device) { run_constructor(device, host_address, copy); },
           host_address});
    return 0;
  }
  if (disabled())
    return device_id == kUsedDevices ? 0 : kOnHost;
  if (device_id == kUsedDevices) {
    std::int32_t worst = 0;
    for (Device* device : registry ? registry->used_devices(host_address) : std::vector<Device*>{})
      if (const std::int32_t result = run_on(*device, host_address, rows, {}))
        worst = result;
    return worst;
  }
  const Selected selected = select(device_id);
  if (selected.device)
    return run_on(*selected.device, host_address, rows, shape);
  if (selected.reason.empty())
    return kOnHost;
  const std::shared_ptr<Kernel> kernel = registry ? registry->find_kernel(host_address) : nullptr;
  return fall_back(host_address, kernel.get(), selected.reason);
}

void data_begin(std::int64_t device_id, Rows rows) {
  on_data(device_id, rows, [](Device& device, Rows wanted) {
    Bindings bound(wanted.size());
    const std::string failure = device.data.begin(wanted, bound, Purpose::kData);
    if (!failure.empty() && mandatory())
      die("data cannot be mapped, and OMP_TARGET_OFFLOAD is MANDATORY: %s", failure.c_str());
    if (!failure.empty())
      say("regions that use it run on the host: %s", failure.c_str());
  });
}

void data_end(std::int64_t device_id, Rows rows) {
  on_data(device_id, rows, [](Device& device, Rows wanted) { device.data.end(wanted); });
}

void data_update(std::int64_t device_id, Rows rows) {
  on_data(device_id, rows, [](Device& device, Rows wanted) { device.data.update(wanted); });
}

void before_host_version(std::int64_t device_id, Rows rows) {
  on_data(device_id, rows, [](Device& device, Rows wanted) { device.data.make_host_current(wanted, {}); });
}

int number_of_devices() {
  Registry* registry = Registry::current();
  return registry && !disabled() ? registry->device_count() : 0;
}

Device* usable_device(int number) {
  if (number < 0 || number >= number_of_devices())
    return nullptr;
  Registry& registry = *Registry::current();
  Device* device = registry.device(number);
  return registry.start(*device) ? device : nullptr;
}

Device* prepared_device(int number) {
  Device* device = usable_device(number);
  return device && Registry::current()->prepare(*device) ? device : nullptr;
}

} // namespace omptool

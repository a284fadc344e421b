// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/placement.h"

#include "offload/fallback.h"
#include "process/libomp.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace omptool {
namespace {

// Tells if the device has any of the region's data. Variables of the device are on every one.
bool has_any(Device& device, Rows rows, const std::vector<HostRange>& globals) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    const HostRange object = HostRange::of(row.begin, std::max<std::int64_t>(row.size, 1));
    const auto holds = [&](const HostRange& global) { return global.contains(object); };
    return !row.has(kValue) && !row.has(kPrivate) && row.begin && std::none_of(globals.begin(), globals.end(), holds) &&
           device.data.presence.is_present(row.begin);
  });
}

// Those that can run the kernel; of these, those that have its data, if any. Getting a device ready may take long, and
// is done without a lock.
std::vector<Device*> candidates(Registry& registry, const Kernel& kernel, Rows rows) {
  const std::vector<HostRange> globals = kernel.globals();
  std::vector<Device*> usable, with_data;
  for (int number = 0; number < registry.device_count(); ++number) {
    Device* const device = registry.device(number);
    if (std::string reason; !device || !registry.prepare(*device) || !registry.find_on(&kernel, *device, reason))
      continue;
    usable.push_back(device);
    if (has_any(*device, rows, globals))
      with_data.push_back(device);
  }
  return with_data.empty() ? usable : with_data;
}

// Threads that choose at once see what the others have chosen.
Device* least_loaded(const std::vector<Device*>& devices) {
  static constinit std::mutex choosing;
  const std::lock_guard lock(choosing);
  const auto least = std::min_element(devices.begin(), devices.end(), [](const Device* one, const Device* other) {
    return one->regions < other->regions;
  });
  if (least == devices.end())
    return nullptr;
  ++(*least)->regions;
  return *least;
}

} // namespace

void Placement::place(const void* host_address, Rows rows) {
  Registry* const registry = Registry::current();
  if (!registry || disabled())
    return;
  if (device_id_ == kDefaultDevice) {
    const std::shared_ptr<Kernel> kernel = registry->find_kernel(host_address);
    if (!kernel || default_device() == registry->device_count()) // which is the host
      return;
    device_.reset(least_loaded(candidates(*registry, *kernel, rows)));
    device_id_ = device_ ? device_->number : device_id_;
  } else if (device_id_ >= 0 && device_id_ < registry->device_count()) {
    device_.reset(registry->device(static_cast<int>(device_id_)));
    ++device_->regions;
  }
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "offload/offload.h"

#include "data/table/row_ranges.h"
#include "offload/fallback.h"
#include "offload/placement.h"
#include "offload/region.h"
#include "process/libomp.h"
#include "process/message.h"

#include <algorithm>
#include <vector>

namespace omptool {
namespace {

constexpr const char* kDisabled = "OMP_TARGET_OFFLOAD is DISABLED";

// Returns false, and why, if the region did not run on the device.
[[gnu::always_inline]] inline bool try_on(Registry& registry, Device& device, const Kernel* kernel, Rows rows,
                                          const AskedShape& shape, std::string& reason) {
  const Resolved there = registry.resolve(kernel, device, shape.environment, reason);
  return there.function && run_on_device(device, *kernel, there, rows, shape, reason);
}

[[gnu::always_inline]] inline std::int32_t run_on(Registry& registry, Device& device, const void* host_address,
                                                  Rows rows, const AskedShape& shape) {
  const KernelUse kernel(registry, host_address);
  std::string reason;
  if (try_on(registry, device, kernel.get(), rows, shape, reason)) [[likely]]
    return 0;
  return fall_back_from(device, host_address, kernel.get(), rows, reason);
}

// Callers of constructors and destructors "are always launched with a single thread and team"
// (libomptarget-interface.tex). A plugin that is told nothing may choose.
LaunchShape for_every_device(const AskedShape& shape) {
  return shape.origin == LaunchShape::Origin::kRegion ? shape_of_teams(1, 1) : shape.whole();
}

// A region for every used device. Once it has run on one of them the host version must not run on
// top of that: the others' failures are only said (decision 3).
std::int32_t run_on_used(const std::vector<Device*>& devices, const void* host_address, Rows rows,
                         const AskedShape& shape) {
  Registry& registry = *Registry::current();
  const KernelUse use(registry, host_address);
  const Kernel* const kernel = use.get();
  std::vector<std::pair<Device*, std::string>> failures;
  for (Device* device : devices)
    if (std::string reason; !try_on(registry, *device, kernel, rows, shape, reason))
      failures.emplace_back(device, std::move(reason));
  if (failures.empty())
    return 0;
  if (failures.size() == devices.size()) {
    for (Device* device : devices)
      copy_to_host(*device, host_address, kernel, rows);
    return fall_back(host_address, kernel, failures.front().second);
  }
  const std::string title = title_of(host_address, kernel);
  for (const auto& [device, reason] : failures)
    if (mandatory())
      die("region %s ran on other devices but not on %s, and OMP_TARGET_OFFLOAD is MANDATORY: %s", title.c_str(),
          device->describe().c_str(), reason.c_str());
    else
      say("region %s ran on other devices but not on %s: %s", title.c_str(), device->describe().c_str(),
          reason.c_str());
  return 0;
}

// The arguments of a call that is done later, when the caller's arrays may be gone: the rows, without kReturn, and the
// bytes that private copies begin with. Mapped objects are not copied: they are the program's to keep.
class KeptRows {
public:
  explicit KeptRows(Rows rows) : rows_(rows.begin(), rows.end()) {
    for (Row& row : rows_) {
      row.flags &= ~static_cast<std::uint32_t>(kReturn);
      if (!row.has(kPrivate | kTo) || row.has(kValue) || row.size <= 0)
        continue;
      const auto* const begin = static_cast<const std::byte*>(row.begin);
      bytes_.emplace_back(begin, begin + row.size);
      // The kernel's argument is as far from the copy as the base is from the bytes.
      row.base = device_base(bytes_.back().data(), row.begin, row.base);
      row.begin = bytes_.back().data();
    }
  }
  KeptRows(const KeptRows&) = delete; // rows_ points into bytes_
  KeptRows& operator=(const KeptRows&) = delete;
  Rows rows() const { return rows_; }

private:
  std::vector<Row> rows_;
  std::vector<std::vector<std::byte>> bytes_;
};

// Returns the memory that the call will touch, which may be unloaded before a device is first used.
std::vector<HostRange> memory_of(Rows rows) {
  std::vector<HostRange> memory;
  for (const Row& row : rows) {
    if (!row.has(kValue))
      memory.push_back(HostRange::of(row.begin, std::max<std::int64_t>(row.size, 1)));
    if (row.has(kPointer))
      memory.push_back(cell_of(row));
  }
  return memory;
}

// Lets each device do it before its first region.
void defer(Deferred work) {
  Registry* const registry = Registry::current();
  if (registry && !disabled())
    registry->defer(std::move(work));
}

// The same for a constructor of device variables: `run` returns false, and why, if it could not run. Then the library's
// other regions must not run there.
void defer_constructor(const void* host_address,
                       std::function<bool(Registry&, Device&, const Kernel*, std::string& reason)> run) {
  defer({[host_address, run = std::move(run)](Device& device) {
           Registry& registry = *Registry::current();
           const KernelUse kernel(registry, host_address);
           std::string reason;
           if (kernel.get() && !run(registry, device, kernel.get(), reason))
             registry.mark_unusable(*kernel.get(), device,
                                    "the constructor " + kernel.get()->title() + " could not run there: " + reason);
         },
         host_address});
}

// Finds the devices that a call means; of the two numbers that select none, those that are in use. None, and why: the
// call has to stay on the host.
std::vector<Device*> devices_meant(std::int64_t device_id, const void* host_address, std::string& reason) {
  if (disabled())
    return {};
  if (device_id == kUsedDevices) {
    Registry* const registry = Registry::current();
    return registry ? registry->used_devices(host_address) : std::vector<Device*>{};
  }
  Selected selected = select(device_id);
  reason = std::move(selected.reason);
  return selected.device ? std::vector<Device*>{selected.device} : std::vector<Device*>{};
}

// A row for each object that a device has.
std::vector<Row> all_on(Device& device) {
  std::vector<Row> rows;
  for (const MappedObject& object : device.data.presence.objects())
    rows.push_back({object.host.address(), object.host.address(), object.host.size(), kSection, nullptr});
  return rows;
}

} // namespace

std::int32_t run_region(std::int64_t asked, const void* host_address, Rows rows, const AskedShape& shape) {
  const Placement placement(asked, host_address, rows);
  const std::int64_t device_id = placement.device_id();
  Registry* const registry = Registry::current();
  if (Device* const device = ready_device(registry, device_id)) [[likely]]
    return run_on(*registry, *device, host_address, rows, shape);
  if (device_id == kEveryDevice) {
    defer_constructor(host_address,
                      [shape = for_every_device(shape), kept = std::make_shared<const KeptRows>(rows)](
                          Registry& its_registry, Device& device, const Kernel* kernel, std::string& reason) {
                        return try_on(its_registry, device, kernel, kept->rows(), shape, reason);
                      });
    return 0;
  }
  if (disabled())
    return device_id == kUsedDevices ? 0 : stay_on_host(host_address, kDisabled);
  if (device_id == kUsedDevices)
    return registry ? run_on_used(registry->used_devices(host_address), host_address, rows, for_every_device(shape))
                    : 0;
  const Selected selected = select(device_id);
  if (selected.device)
    return run_on(*Registry::current(), *selected.device, host_address, rows, shape);
  if (selected.reason.empty())
    return stay_on_host(host_address, "the program asks for the host's device number");
  const std::shared_ptr<Kernel> kernel = kernel_of(host_address);
  const Registry* const lost = Registry::lost();
  return fall_back(host_address, lost ? lost->find_published(host_address) : kernel.get(), selected.reason);
}

std::int32_t refuse_region(std::int64_t device_id, const void* host_address, std::optional<Rows> rows,
                           const std::string& reason, Fault fault) {
  if (device_id == kEveryDevice) {
    defer_constructor(host_address,
                      [reason](Registry&, Device&, const Kernel*, std::string& why) { return why = reason, false; });
    return 0;
  }
  if (disabled())
    return device_id == kUsedDevices ? 0 : stay_on_host(host_address, kDisabled);
  const std::shared_ptr<Kernel> kernel = kernel_of(host_address);
  std::string none;
  const std::vector<Device*> devices = devices_meant(device_id, host_address, none);
  if (device_id == kUsedDevices && devices.empty())
    return 0;
  for (Device* device : devices)
    copy_to_host(*device, host_address, kernel.get(), rows ? *rows : all_on(*device));
  if (fault == Fault::kOfCompiler || mandatory())
    return fall_back(host_address, kernel.get(), reason);
  report_on_host(host_address, kernel.get(), reason);
  say("region %s runs on the host: %s", title_of(host_address, kernel.get()).c_str(), reason.c_str());
  return kOnHost;
}

void refuse_data(std::int64_t device_id, Rows rows, const std::string& reason) {
  if (disabled())
    return;
  insist_on_data(reason);
  std::string none;
  for (Device* device : devices_meant(device_id, nullptr, none))
    device->data.fallback.to_host(rows, {}, "of the construct");
  say("the runtime ignores a construct that maps or updates data: %s", reason.c_str());
}

void run_data(Action action, std::int64_t device_id, Rows rows) {
  if (Device* const device = ready_device(Registry::current(), device_id)) [[likely]]
    return carry_out(action, *device, rows);
  if (device_id == kEveryDevice) {
    const auto kept = std::make_shared<const KeptRows>(rows);
    return defer(
        {[action, kept](Device& device) { carry_out(action, device, kept->rows()); }, nullptr, memory_of(rows)});
  }
  std::string reason;
  for (Device* device : devices_meant(device_id, nullptr, reason))
    carry_out(action, *device, rows);
  if (!reason.empty())
    insist_on_data(reason);
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

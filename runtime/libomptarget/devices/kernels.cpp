// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels by host address: which libraries have them, and where they are on a device.
#include "devices/registry.h"

#include <algorithm>
#include <optional>

namespace omptool {

const void* Registry::meant_by(const void* host_address, const void* caller) {
  const std::shared_lock lock(mutex_);
  return kernels_.meant_by(host_address, caller);
}

std::shared_ptr<Kernel> Registry::find_kernel(const void* host_address) {
  resolve_pending();
  const std::shared_lock lock(mutex_);
  return kernels_.shared(host_address);
}

// Finds it and remembers it.
const Kernel::Loaded* Registry::look_for(const Kernel* sought, Device& device, std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!sought) {
    reason =
        "no registered library lists it" + (ignored_.empty() ? "" : "; the runtime ignores the images of " + ignored_);
    return nullptr;
  }
  const Kernel& kernel = *sought;
  Kernel::Loaded loaded = kernel.search(device, reason);
  if (!loaded.function)
    return nullptr;
  for (const Kernel::Owner& owner : kernel.owners)
    if (const auto there = owner.library->on_device.find(device.number); there != owner.library->on_device.end())
      there->second.used = true;
  loaded.next = kernel.loaded.load(std::memory_order_relaxed);
  kernel.kept.push_back(std::make_unique<const Kernel::Loaded>(std::move(loaded)));
  const Kernel::Loaded* const found = kernel.kept.back().get();
  kernel.loaded.store(found, std::memory_order_release);
  return found;
}

ImageOrigin Registry::images_at(const void* address) {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address);
  resolve_pending();
  const std::shared_lock lock(mutex_);
  std::optional<ImageOrigin> joint;
  for (const auto& [number, library] : libraries_) {
    const HostRange object = library->object;
    if (object.size() > 0 && (at < object.begin || at >= object.end)) // one that nobody knows may be meant
      continue;
    for (const Library::Image& image : library->images)
      if (!joint)
        joint = image.origin;
      else if (joint->form != image.origin.form)
        joint->form = KernelForm::kAsCalled;
  }
  return joint.value_or(ImageOrigin{});
}

std::vector<Device*> Registry::used_devices(const void* host_address) {
  const std::shared_ptr<Kernel> kernel = host_address ? find_kernel(host_address) : nullptr;
  std::vector<Device*> used;
  const std::shared_lock lock(mutex_);
  for (int number = 0; number < device_count_; ++number) {
    const auto uses = [&](const std::shared_ptr<Library>& library) {
      const auto there = library->on_device.find(number);
      return there != library->on_device.end() && there->second.used;
    };
    const bool any = kernel ? std::any_of(kernel->owners.begin(), kernel->owners.end(),
                                          [&](const Kernel::Owner& owner) { return uses(owner.library); })
                            : !host_address && std::any_of(libraries_.begin(), libraries_.end(),
                                                           [&](const auto& one) { return uses(one.second); });
    if (any)
      used.push_back(device(number));
  }
  return used;
}

void Registry::mark_unusable(const Kernel& kernel, Device& device, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (const Kernel::Owner& owner : kernel.owners) {
    const auto there = owner.library->on_device.find(device.number);
    if (there == owner.library->on_device.end())
      continue;
    there->second.unusable = true;
    there->second.failure = reason;
    for (const HostEntry& entry : owner.library->entries->entries)
      for (const void* address : {static_cast<const void*>(entry.address), static_cast<const void*>(&entry)})
        if (const Kernel* const other = kernels_.find(address))
          other->loaded.store(nullptr, std::memory_order_release);
  }
}

} // namespace omptool

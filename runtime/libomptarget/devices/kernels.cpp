// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels by host address: which libraries have them, and where they are on a device.
#include "devices/registry.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace omptool {

// Caller holds the lock. Launches find what the index holds now; what it held before goes when the launches
// that use it have ended.
void Registry::publish(KernelIndex changed) {
  const std::shared_ptr<const KernelIndex> before =
      std::exchange(kernels_, std::make_shared<const KernelIndex>(std::move(changed)));
  index_.store(kernels_.get(), std::memory_order_release);
  retired_.add(before.get(), before);
}

// Caller holds the lock. A fresh record takes the place of a known one, so that a region that is running keeps what
// it was resolved to.
void Registry::list_kernel(KernelIndex& index, const std::shared_ptr<Library>& library, std::size_t number) {
  const HostEntry& entry = library->entries->entries[number];
  auto kernel = std::make_shared<Kernel>();
  if (const std::shared_ptr<Kernel> known = index.shared(entry.address)) {
    kernel->owners = known->owners;
    retired_.add(known.get(), known);
  }
  kernel->name = name_of(entry);
  kernel->owners.push_back({library, number});
  index.set(entry.address, kernel);
  if (kernel->in_several_objects())
    list_apart(index, *kernel);
}

// Caller holds the lock. A running region keeps the old record; the index gets one without this library.
void Registry::unlist_kernel(KernelIndex& index, const std::shared_ptr<Library>& library, std::size_t number) {
  const HostEntry& entry = library->entries->entries[number];
  if (const std::shared_ptr<Kernel> own = index.shared(&entry)) {
    index.erase(&entry);
    retired_.add(own.get(), own);
  }
  const std::shared_ptr<Kernel> known = index.shared(entry.address);
  if (!known)
    return;
  auto rest = std::make_shared<Kernel>();
  rest->name = known->name;
  std::copy_if(known->owners.begin(), known->owners.end(), std::back_inserter(rest->owners),
               [&](const Kernel::Owner& owner) { return owner.library != library; });
  if (!rest->owners.empty())
    index.set(entry.address, rest);
  else
    index.erase(entry.address);
  retired_.add(known.get(), known);
}

// Each library's kernel also gets an address of its own, that of the entry. Caller holds the lock.
void Registry::list_apart(KernelIndex& index, const Kernel& kernel) {
  for (const Kernel::Owner& owner : kernel.owners) {
    const void* const address = &owner.library->entries->entries[owner.index];
    if (index.find(address))
      continue;
    auto own = std::make_shared<Kernel>();
    own->name = kernel.name;
    own->owners = {owner};
    index.set(address, std::move(own));
  }
  any_apart_.store(true, std::memory_order_release);
  launches_plainly_.store(false, std::memory_order_release);
}

const void* Registry::meant_by(const void* host_address, const void* caller) {
  const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(caller);
  const std::shared_lock lock(mutex_);
  const Kernel* const known = kernels_->find(host_address);
  if (!known || !known->in_several_objects())
    return host_address;
  for (const Kernel::Owner& owner : known->owners)
    if (owner.library->object.begin <= from && from < owner.library->object.end)
      return &owner.library->entries->entries[owner.index];
  return host_address;
}

std::shared_ptr<Kernel> Registry::find_kernel(const void* host_address) {
  resolve_pending();
  const std::shared_lock lock(mutex_);
  return kernels_->shared(host_address);
}

// Finds it and remembers it.
const Kernel::Loaded* Registry::look_for(const Kernel* sought, Device& device, std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!sought) {
    reason = "no registered library lists it" + (ignored_.empty() ? "" : "; one was ignored: " + ignored_);
    return nullptr;
  }
  const Kernel& kernel = *sought;
  Kernel::Loaded loaded = search(kernel, device, reason);
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

std::string Registry::disagreement(const LoadedImage& image, EnvironmentPlace environment) {
  constexpr const char* kCalls[] = {"without a launch environment", "with a launch environment first",
                                    "with a launch environment first", "with a launch environment last"};
  return std::string("the program calls it ") + kCalls[static_cast<std::size_t>(environment)] +
         ", which the image for " + image.device.describe() + (image.compiler.empty() ? "" : ", compiled by ") +
         image.compiler + ", does not expect; compile both with one compiler";
}

// Caller holds the lock.
Kernel::Loaded Registry::search(const Kernel& kernel, Device& device, std::string& reason) {
  reason = kernel.ambiguity();
  if (!reason.empty())
    return {};
  bool any_image = false;
  for (const Kernel::Owner& owner : kernel.owners) {
    const auto at = owner.library->on_device.find(device.number);
    if (at == owner.library->on_device.end())
      continue;
    const LibraryOnDevice& there = at->second;
    if (!there.failure.empty() && reason.empty())
      reason = there.failure;
    if (there.unusable)
      continue;
    for (const std::shared_ptr<LoadedImage>& image : there.images) {
      any_image = true;
      if (void* function = image->addresses[owner.index])
        return {device.number, function, image, nullptr};
    }
  }
  if (reason.empty())
    reason =
        any_image ? "the image for " + device.describe() + " lacks it" : "there is no image for " + device.describe();
  return {};
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
        if (const Kernel* const other = kernels_->find(address))
          other->loaded.store(nullptr, std::memory_order_release);
  }
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/kernels.h"

#include "region_name.h"

#include <algorithm>
#include <utility>

namespace omptool {
std::string Kernel::title() const {
  return region_name(name);
}

std::vector<HostRange> Kernel::globals() const {
  std::vector<HostRange> all;
  for (const LibraryEntry& owner : owners)
    all.insert(all.end(), owner.library->table.globals.begin(), owner.library->table.globals.end());
  return all;
}

std::string Kernel::ambiguity() const {
  for (const LibraryEntry& owner : owners)
    if (const std::string first = name_of(owners.front().entry()), other = name_of(owner.entry()); first != other) {
      const std::string one = region_name(first), another = region_name(other);
      const bool are_alike = one == another; // of two files
      return "its host address stands for two kernels, " + (are_alike ? first : one) + " and " +
             (are_alike ? other : another) + " (identical functions folded by the linker)";
    }
  if (in_several_objects())
    return "several libraries have a kernel of this name at one address, and its caller is in none of them";
  return {};
}

// Returns whether several objects have the kernel. The linker merges equal names to one address, and a file that was
// compiled twice has equal names.
bool Kernel::in_several_objects() const {
  return std::any_of(owners.begin(), owners.end(), [&](const LibraryEntry& owner) {
    return owner.library->home.object.begin != owners.front().library->home.object.begin;
  });
}

Kernel::Found Kernel::search(int device) const {
  Found found;
  found.reason = ambiguity();
  if (!found.reason.empty())
    return found;
  for (const LibraryEntry& owner : owners)
    owner.library->on(device, [&](const Library::OnDevice& there) {
      if (found.image)
        return;
      if (found.reason.empty())
        found.reason = there.failure;
      if (there.unusable)
        return;
      found.any_image = found.any_image || !there.images.empty();
      for (const std::shared_ptr<LoadedImage>& image : there.images)
        if (void* const function = image->addresses[owner.index]; function && !found.image) {
          found.function = function;
          found.image = image;
        }
    });
  return found;
}

const Kernel::Loaded* Kernel::keep(int device, const Found& found) const {
  if (const Loaded* const known = on(device))
    return known;
  for (const LibraryEntry& one : owners) // a region of its libraries runs there
    one.library->on(device, [](Library::OnDevice& there) { there.used = true; });
  kept.push_front({device, found.function, found.takes_shape, found.opens_parallel, found.image,
                   loaded.load(std::memory_order_relaxed)});
  loaded.store(&kept.front(), std::memory_order_release);
  return &kept.front();
}

const void* KernelTable::meant_by(const void* host_address, const void* caller) const {
  const HostRange from = HostRange::of(caller, 1);
  const std::shared_ptr<Kernel> known = find(host_address);
  if (known && known->in_several_objects())
    for (const LibraryEntry& owner : known->owners)
      if (owner.library->home.object.contains(from))
        return &owner.entry();
  return host_address;
}

const Kernel::Loaded* KernelTable::look_for(const Kernel& kernel, Device& device, std::string& reason) {
  const auto search = [&] {
    const std::shared_lock lock(mutex_);
    return kernel.search(device.number);
  };
  Kernel::Found found = search();
  while (found.image) {
    const RtlFunctions& call = device.rtl.call();
    found.takes_shape = call.takes_shape && call.takes_shape(device.rtl_id, found.function) != 0;
    found.opens_parallel = call.opens_parallel && call.opens_parallel(device.rtl_id, found.function) != 0;
    Kernel::Found again; // outlives the lock: the last owner of an image unloads it
    const std::lock_guard lock(mutex_);
    again = kernel.search(device.number);
    if (again.image == found.image)
      return kernel.keep(device.number, found);
    std::swap(found, again);
  }
  reason = std::move(found.reason);
  if (reason.empty())
    reason = found.any_image ? "the image for " + device.describe() + " lacks it"
                             : "there is no image for " + device.describe();
  return nullptr;
}

void KernelTable::mark_unusable(const Kernel& kernel, int device, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (const LibraryEntry& owner : kernel.owners) {
    bool is_there = false;
    owner.library->on(device, [&](Library::OnDevice& there) {
      is_there = there.unusable = true;
      there.failure = reason;
    });
    if (!is_there)
      continue;
    for (const HostEntry& entry : owner.library->table.entries)
      for (const void* address : {static_cast<const void*>(entry.address), static_cast<const void*>(&entry)})
        if (const std::shared_ptr<Kernel>& other = index_->find(address))
          other->loaded.store(nullptr, std::memory_order_release);
  }
}

void KernelTable::add(const std::shared_ptr<Library>& library) {
  const std::lock_guard lock(mutex_);
  KernelIndex changed = *index_;
  for (std::size_t i = 0; i < library->table.entries.size(); ++i) {
    const HostEntry& entry = library->table.entries[i];
    if (!entry.address || entry.kind != EntryKind::kKernel)
      continue;
    const std::shared_ptr<Kernel> known = changed.find(entry.address);
    std::vector<LibraryEntry> owners = known ? known->owners : std::vector<LibraryEntry>();
    owners.push_back({library, i});
    replace(changed, entry.address, owners);
    if (!changed.find(entry.address)->in_several_objects())
      continue;
    // Each library's kernel also gets an address of its own, that of the entry.
    for (const LibraryEntry& owner : owners)
      if (!changed.find(&owner.entry()))
        replace(changed, &owner.entry(), {owner});
    any_shared_name_.store(true, std::memory_order_release);
  }
  publish(std::move(changed));
}

void KernelTable::remove(const std::shared_ptr<Library>& library) {
  const std::lock_guard lock(mutex_);
  KernelIndex changed = *index_;
  for (const HostEntry& entry : library->table.entries) {
    replace(changed, &entry, {});
    const std::shared_ptr<Kernel> known = changed.find(entry.address);
    std::vector<LibraryEntry> rest = known ? known->owners : std::vector<LibraryEntry>();
    std::erase_if(rest, [&](const LibraryEntry& owner) { return owner.library == library; });
    replace(changed, entry.address, std::move(rest));
  }
  publish(std::move(changed));
}

// Replaces a kernel's record by a new one, so that a running region keeps the record that it has resolved.
void KernelTable::replace(KernelIndex& index, const void* address, std::vector<LibraryEntry> owners) {
  const std::shared_ptr<Kernel> known = index.find(address);
  if (known)
    retired_.add(known);
  if (known || !owners.empty())
    index.set(address, owners.empty() ? nullptr : std::make_shared<Kernel>(std::move(owners)));
}

void KernelTable::publish(KernelIndex changed) {
  const std::shared_ptr<const KernelIndex> before =
      std::exchange(index_, std::make_shared<const KernelIndex>(std::move(changed)));
  published_.store(index_.get(), std::memory_order_release);
  retired_.add(before);
}

} // namespace omptool

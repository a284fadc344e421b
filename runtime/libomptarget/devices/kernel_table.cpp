// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/kernel_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace omptool {

const void* KernelTable::meant_by(const void* host_address, const void* caller) const {
  const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(caller);
  const Kernel* const known = find(host_address);
  if (!known || !known->in_several_objects())
    return host_address;
  for (const Kernel::Owner& owner : known->owners)
    if (owner.library->object.begin <= from && from < owner.library->object.end)
      return &owner.library->entries->entries[owner.index];
  return host_address;
}

KernelIndex KernelTable::with(const std::shared_ptr<Library>& library) {
  KernelIndex changed = *index_;
  for (std::size_t i = 0; i < library->entries->entries.size(); ++i)
    if (const HostEntry& entry = library->entries->entries[i]; entry.address && entry.kind == EntryKind::kKernel)
      list(changed, library, i);
  return changed;
}

KernelIndex KernelTable::without(const std::shared_ptr<Library>& library) {
  KernelIndex changed = *index_;
  for (std::size_t i = 0; i < library->entries->entries.size(); ++i)
    unlist(changed, library, i);
  return changed;
}

// A fresh record takes the place of a known one, so that a region that is running keeps what it was resolved to.
void KernelTable::list(KernelIndex& index, const std::shared_ptr<Library>& library, std::size_t number) {
  const HostEntry& entry = library->entries->entries[number];
  auto kernel = std::make_shared<Kernel>();
  if (const std::shared_ptr<Kernel> known = index.shared(entry.address)) {
    kernel->owners = known->owners;
    retired_.add(known);
  }
  kernel->name = name_of(entry);
  kernel->owners.push_back({library, number});
  index.set(entry.address, kernel);
  if (kernel->in_several_objects())
    list_apart(index, *kernel);
}

// Each library's kernel also gets an address of its own, that of the entry.
void KernelTable::list_apart(KernelIndex& index, const Kernel& kernel) {
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
}

// A running region keeps the old record; the index gets one without this library.
void KernelTable::unlist(KernelIndex& index, const std::shared_ptr<Library>& library, std::size_t number) {
  const HostEntry& entry = library->entries->entries[number];
  if (const std::shared_ptr<Kernel> own = index.shared(&entry)) {
    index.erase(&entry);
    retired_.add(own);
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
  retired_.add(known);
}

void KernelTable::publish(KernelIndex changed) {
  const std::shared_ptr<const KernelIndex> before =
      std::exchange(index_, std::make_shared<const KernelIndex>(std::move(changed)));
  published_.store(index_.get(), std::memory_order_release);
  retired_.add(before);
}

} // namespace omptool

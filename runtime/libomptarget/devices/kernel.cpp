// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "devices/kernel.h"

#include <algorithm>

namespace omptool {

std::vector<HostRange> Kernel::globals() const {
  std::vector<HostRange> all;
  for (const Owner& owner : owners)
    all.insert(all.end(), owner.library->globals.begin(), owner.library->globals.end());
  return all;
}

std::string Kernel::ambiguity() const {
  const auto entry_name = [](const Owner& owner) {
    return std::string(name_of(owner.library->entries->entries[owner.index]));
  };
  for (const Owner& owner : owners)
    if (const std::string first = entry_name(owners.front()), other = entry_name(owner); first != other)
      return "its host address stands for two kernels, " + first + " and " + other +
             " (identical functions folded by the linker)";
  if (in_several_objects())
    return "several libraries have a kernel of this name at one address, and its caller is in none of them";
  return {};
}

// The linker gives one address to what has one name, and kernels of one file that was compiled twice have.
bool Kernel::in_several_objects() const {
  return std::any_of(owners.begin(), owners.end(), [&](const Owner& owner) {
    return owner.library->object.begin != owners.front().library->object.begin;
  });
}

Kernel::Loaded Kernel::search(const Device& device, std::string& reason) const {
  reason = ambiguity();
  if (!reason.empty())
    return {};
  bool any_image = false;
  for (const Kernel::Owner& owner : owners) {
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

} // namespace omptool

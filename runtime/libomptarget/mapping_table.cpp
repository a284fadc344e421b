// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mapping_table.h"

#include <iterator>

namespace omptool {

// kPartial is not a miss: the program maps more of an object than is present, which OpenMP forbids,
// and only the caller can name the construct that did it.
Lookup MappingTable::find(HostRange wanted) const {
  const auto after = by_begin_.upper_bound(wanted.begin); // first mapping past wanted.begin
  if (after != by_begin_.begin()) {
    const std::shared_ptr<Mapping>& before = std::prev(after)->second;
    if (wanted.begin < before->host.end)
      return {wanted.end <= before->host.end ? Overlap::kWhole : Overlap::kPartial, before};
  }
  if (after != by_begin_.end() && after->second->host.begin < wanted.end)
    return {Overlap::kPartial, after->second};
  return {};
}

std::shared_ptr<Mapping> MappingTable::find(const void* address) const {
  return find(HostRange::of(address, 1)).mapping;
}

std::shared_ptr<Mapping> MappingTable::find_section(const void* address) const {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address);
  const auto after = by_begin_.upper_bound(at);
  if (after != by_begin_.begin() && at < std::prev(after)->second->host.end)
    return std::prev(after)->second;
  return after != by_begin_.end() && after->second->base <= at ? after->second : nullptr;
}

std::vector<std::shared_ptr<Mapping>> MappingTable::overlapping(HostRange range) const {
  std::vector<std::shared_ptr<Mapping>> found;
  auto at = by_begin_.upper_bound(range.begin);
  if (at != by_begin_.begin() && range.begin < std::prev(at)->second->host.end)
    --at;
  for (; at != by_begin_.end() && at->first < range.end; ++at)
    found.push_back(at->second);
  return found;
}

std::vector<std::shared_ptr<Mapping>> MappingTable::on_device(DeviceRange range) const {
  std::vector<std::shared_ptr<Mapping>> found;
  for (const auto& [host, mapping] : by_begin_) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(mapping->device);
    const std::size_t size = mapping->host.end - mapping->host.begin;
    // Differences: a sum of an address and a size may overflow.
    if (begin && (begin <= range.begin ? range.begin - begin < size : begin - range.begin < range.size))
      found.push_back(mapping);
  }
  return found;
}

} // namespace omptool

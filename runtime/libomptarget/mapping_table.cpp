// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mapping_table.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace omptool {

std::string describe(HostRange range) {
  char text[64];
  std::snprintf(text, sizeof text, "%p (%lld bytes)", range.address(), static_cast<long long>(range.size()));
  return text;
}

std::string describe(const Mapping& mapping) {
  return (mapping.name.empty() ? "the object at " : mapping.name + " at ") + describe(mapping.host);
}

// Mappings have a share in themselves while they are in the table.
MappingTable::~MappingTable() {
  for (const auto& [key, block] : blocks_)
    for (const Entry& entry : std::span(block->entries).first(block->count))
      const MappingPtr share = std::move(entry.mapping->self);
}

// ---- places ----

// The block that an address belongs to: the last whose key is not past it, else the first. The one used
// last is looked at first, because programs map memory in order.
MappingTable::Blocks::const_iterator MappingTable::block_of(std::uintptr_t address) const {
  if (last_used_ != blocks_.end() && last_used_->first <= address) {
    const auto next = std::next(last_used_);
    if (next == blocks_.end() || address < next->first)
      return last_used_;
  }
  auto at = blocks_.upper_bound(address);
  if (at != blocks_.begin())
    --at;
  return last_used_ = at;
}

// The first mapping that begins past `address`.
MappingTable::Place MappingTable::after(std::uintptr_t address) const {
  if (blocks_.empty())
    return {blocks_.end(), 0};
  const auto block = block_of(address);
  const Entry* const first = block->second->entries.data();
  const Entry* const last = first + block->second->count;
  const Entry* const at = std::upper_bound(
      first, last, address, [](std::uintptr_t sought, const Entry& entry) { return sought < entry.begin; });
  if (at == last)
    return {std::next(block), 0};
  return {block, static_cast<std::size_t>(at - first)};
}

// Null at the end.
const MappingTable::Entry* MappingTable::entry_at(Place place) const {
  return is_end(place) ? nullptr : &place.block->second->entries[place.index];
}

// The place before another one; the end where there is none.
MappingTable::Place MappingTable::before(Place place) const {
  if (place.index > 0)
    return {place.block, place.index - 1};
  if (place.block == blocks_.begin())
    return {blocks_.end(), 0};
  const auto block = std::prev(place.block);
  const std::size_t count = block->second->count;
  return count ? Place{block, count - 1} : Place{blocks_.end(), 0};
}

// ---- finding ----

// kPartial is not a miss: the program maps more of an object than is present, which OpenMP forbids,
// and only the caller can name the construct that did it.
Lookup MappingTable::find(HostRange wanted) const {
  const Place past = after(wanted.begin);
  if (const Entry* at = entry_at(before(past)); at && wanted.begin < at->end)
    return {wanted.end <= at->end ? Overlap::kWhole : Overlap::kPartial, at->mapping->self};
  if (const Entry* next = entry_at(past); next && next->begin < wanted.end)
    return {Overlap::kPartial, next->mapping->self};
  return {};
}

MappingPtr MappingTable::find(const void* address) const {
  return find(HostRange::of(address, 1)).mapping;
}

MappingPtr MappingTable::find_section(const void* address) const {
  const std::uintptr_t sought = reinterpret_cast<std::uintptr_t>(address);
  const Place past = after(sought);
  if (const Entry* at = entry_at(before(past)); at && sought < at->end)
    return at->mapping->self;
  const Entry* next = entry_at(past);
  return next && next->mapping->base <= sought ? next->mapping->self : nullptr;
}

std::vector<MappingPtr> MappingTable::overlapping(HostRange range) const {
  std::vector<MappingPtr> found;
  Place place = after(range.begin);
  if (const Entry* at = entry_at(before(place)); at && range.begin < at->end)
    place = before(place);
  while (const Entry* at = entry_at(place)) {
    if (at->begin >= range.end)
      break;
    found.push_back(at->mapping->self);
    if (++place.index == place.block->second->count)
      place = {std::next(place.block), 0};
  }
  return found;
}

// ---- changing ----

void MappingTable::insert(const MappingPtr& mapping) {
  const Entry entry{mapping->host.begin, mapping->host.end, mapping.get()};
  mapping->self = mapping;
  ++size_;
  if (blocks_.empty()) {
    const auto first = blocks_.emplace(0, std::make_unique<Block>()).first;
    first->second->entries[first->second->count++] = entry;
    return;
  }
  Block* block = block_of(entry.begin)->second.get();
  const auto place_in = [&](Block& where) {
    return std::upper_bound(where.entries.begin(), where.entries.begin() + static_cast<std::ptrdiff_t>(where.count),
                            entry.begin, [](std::uintptr_t sought, const Entry& one) { return sought < one.begin; });
  };
  if (block->count == Block::kMost) {
    // Memory that is mapped in order fills its blocks; elsewhere they are split in halves.
    const bool at_end = block->entries.back().begin < entry.begin;
    const std::size_t kept = at_end ? Block::kMost : Block::kMost / 2;
    auto upper = std::make_unique<Block>();
    upper->count = Block::kMost - kept;
    std::copy_n(block->entries.begin() + kept, upper->count, upper->entries.begin());
    block->count = kept;
    const std::uintptr_t key = at_end ? entry.begin : upper->entries.front().begin;
    Block* const made = blocks_.emplace(key, std::move(upper)).first->second.get();
    if (entry.begin >= key)
      block = made;
  }
  const auto at = place_in(*block);
  std::copy_backward(at, block->entries.begin() + static_cast<std::ptrdiff_t>(block->count),
                     block->entries.begin() + static_cast<std::ptrdiff_t>(block->count) + 1);
  *at = entry;
  ++block->count;
}

MappingPtr MappingTable::erase(Mapping& mapping) {
  const auto found = block_of(mapping.host.begin);
  Block& block = *found->second;
  const auto last = block.entries.begin() + static_cast<std::ptrdiff_t>(block.count);
  const auto at = std::lower_bound(block.entries.begin(), last, mapping.host.begin,
                                   [](const Entry& one, std::uintptr_t sought) { return one.begin < sought; });
  std::copy(at + 1, last, at);
  --size_;
  if (--block.count == 0 && found != blocks_.begin()) {
    last_used_ = blocks_.end();
    blocks_.erase(found);
  }
  return std::move(mapping.self);
}

} // namespace omptool

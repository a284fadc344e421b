// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/table/objects_by_address.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace omptool {
// ---- blocks ----

// The first of its entries that begins past `address`; looks at the last one first, because programs map
// memory in order.
std::size_t ObjectsByAddress::Block::past(std::uintptr_t address) const {
  if (first == last || entries[last - 1].begin <= address)
    return last;
  const auto begin = entries.begin();
  const auto at =
      std::upper_bound(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last) - 1,
                       address, [](std::uintptr_t sought, const Entry& entry) { return sought < entry.begin; });
  return static_cast<std::size_t>(at - begin);
}

// There is room; the shorter side moves, if it has any.
void ObjectsByAddress::Block::insert(std::size_t at, const Entry& entry) {
  Entry* const all_entries = entries.data();
  if (last == kMost || (first > 0 && at - first < last - at)) {
    std::move(all_entries + first, all_entries + at, all_entries + first - 1);
    --first;
    --at;
  } else {
    std::move_backward(all_entries + at, all_entries + last, all_entries + last + 1);
    ++last;
  }
  entries[at] = entry;
}

void ObjectsByAddress::Block::erase(std::size_t at) {
  Entry* const all_entries = entries.data();
  if (at - first < last - at) {
    std::move_backward(all_entries + first, all_entries + at, all_entries + at + 1);
    ++first;
  } else {
    std::move(all_entries + at + 1, all_entries + last, all_entries + at);
    --last;
  }
  if (first == last)
    first = last = 0;
}

// The block that an address belongs to: the last whose key is not past it. There is one, but in an empty
// table. The one used last is looked at first.
ObjectsByAddress::Block& ObjectsByAddress::block_of(std::uintptr_t address) const {
  if (last_used_ && last_used_->key <= address && (!last_used_->next || address < last_used_->next->key))
    return *last_used_;
  last_used_ = std::prev(blocks_.upper_bound(address))->second.get();
  return *last_used_;
}

ObjectsByAddress::Block& ObjectsByAddress::add_block(Block& before, std::uintptr_t key) {
  Block& made = *blocks_.emplace(key, std::make_unique_for_overwrite<Block>()).first->second;
  made.key = key;
  made.previous = &before;
  made.next = std::exchange(before.next, &made);
  if (made.next)
    made.next->previous = &made;
  return made;
}

// The next block, for all that begins past the entries of this one.
ObjectsByAddress::Block& ObjectsByAddress::room_after(Block& block) {
  const std::uintptr_t key = block.entries[block.last - 1].end;
  if (!block.next || block.next->is_full())
    return add_block(block, key);
  auto moved = blocks_.extract(block.next->key);
  moved.key() = block.next->key = key;
  blocks_.insert(std::move(moved));
  return *block.next;
}

void ObjectsByAddress::make_room_at_end(Place& place) {
  Block& block = *place.block;
  const std::size_t count = block.last - block.first;
  if (count <= Block::kMost / 2) {
    std::move(block.entries.begin() + static_cast<std::ptrdiff_t>(block.first), block.entries.end(),
              block.entries.begin());
    block.first = 0;
    place.index = block.last = count;
  } else {
    place.block = &room_after(block);
    place.index = place.block->first;
  }
}

// Makes room in the middle of a full block.
void ObjectsByAddress::split(Place& place) {
  constexpr std::size_t kKept = Block::kMost / 2;
  Block& lower = *place.block;
  Block& upper = add_block(lower, lower.entries[kKept].begin);
  std::copy(lower.entries.begin() + kKept, lower.entries.end(), upper.entries.begin());
  upper.last = Block::kMost - kKept;
  lower.last = kKept;
  if (place.index > kKept) {
    place.block = &upper;
    place.index -= kKept;
  }
}

void ObjectsByAddress::erase_block(Block& block) {
  block.previous->next = block.next;
  if (block.next)
    block.next->previous = block.previous;
  last_used_ = block.next;
  blocks_.erase(block.key);
}

// ---- finding ----

ObjectsByAddress::Place ObjectsByAddress::place_of(std::uintptr_t address) const {
  if (blocks_.empty())
    return {};
  Block& block = block_of(address);
  Place place{&block, block.past(address)};
  if (place.index > block.first)
    place.at_or_before = &block.entries[place.index - 1];
  else if (const Block* const before = block.previous; before && before->first < before->last)
    place.at_or_before = &before->entries[before->last - 1];
  if (place.index < block.last)
    place.after = &block.entries[place.index];
  else if (block.next)
    place.after = &block.next->entries[block.next->first];
  return place;
}

// kPartial is not a miss: the program maps more of an object than is present, which OpenMP forbids,
// and only the caller can name the construct that did it.
Lookup ObjectsByAddress::find(HostRange wanted) const {
  const Place place = place_of(wanted.begin);
  if (const Entry* const at = place.at_or_before; at && wanted.begin < at->end)
    return {wanted.end <= at->end ? Overlap::kWhole : Overlap::kPartial, at->object};
  if (place.after && place.after->begin < wanted.end)
    return {Overlap::kPartial, place.after->object};
  return {};
}

Object* ObjectsByAddress::find_section(const void* address) const {
  const std::uintptr_t sought = reinterpret_cast<std::uintptr_t>(address);
  const Place place = place_of(sought);
  if (const Entry* const at = place.at_or_before; at && sought < at->end)
    return at->object;
  return place.after && place.after->object->base() <= sought ? place.after->object : nullptr;
}

std::vector<Object*> ObjectsByAddress::overlapping(HostRange range) const {
  std::vector<Object*> all;
  find_overlapping(range, [&](Object* found) {
    all.push_back(found);
    return false;
  });
  return all;
}

// ---- changing ----

bool ObjectsByAddress::insert(HostRange host, Object& object) {
  const Entry entry{host.begin, host.end, &object};
  if (blocks_.empty())
    blocks_.emplace(0, std::make_unique_for_overwrite<Block>());
  Place place = place_of(entry.begin);
  if ((place.at_or_before && entry.begin < place.at_or_before->end) || (place.after && place.after->begin < entry.end))
    return false;
  if (place.index == Block::kMost)
    make_room_at_end(place);
  else if (place.block->is_full())
    split(place);
  place.block->insert(place.index, entry);
  return true;
}

void ObjectsByAddress::erase(const Object& object) {
  const std::uintptr_t begin = object.host().begin;
  Block& block = block_of(begin);
  // Most leave in the order they came in.
  const std::size_t at = block.entries[block.first].object == &object ? block.first : block.past(begin) - 1;
  block.erase(at);
  if (block.first == block.last && block.previous)
    erase_block(block);
}

} // namespace omptool

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects by the address they begin at, which is how most calls name them. In shards with a lock each,
// so that threads with objects of their own do not meet; neighbours in memory are neighbours here.
#pragma once

#include "data/table/mapping_table.h"
#include "small_blocks.h"
#include "threads/biased_lock.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace omptool {

// Objects that begin in the same kilobyte: a chain for each of its granules.
class ObjectGroup : public small_blocks::Allocated {
public:
  static constexpr int kBits = 10, kGranuleBits = 6;
  static std::uintptr_t key_of(std::uintptr_t begin) { return begin >> kBits; }
  Mapping*& chain(std::uintptr_t begin) { return chains_[(begin >> kGranuleBits) % chains_.size()]; }
  bool is_empty() const {
    return std::all_of(chains_.begin(), chains_.end(), [](const Mapping* chain) { return !chain; });
  }

private:
  std::array<Mapping*, 1U << (kBits - kGranuleBits)> chains_{};
};

// The groups of a shard: open addressing (Knuth, volume 3, 6.4, algorithms L and R), so that a search is
// one step in most cases.
class ObjectGroups {
public:
  struct Slot {
    std::uintptr_t key = 0;
    std::unique_ptr<ObjectGroup> group;
    // From the host's addresses to the device's, of an object in the group: those of others are probably
    // there as well, and a processor that is told so fetches the bytes while it still looks for the object.
    std::uintptr_t shift = 0;
  };

  // Null: there is no such group.
  Slot* find(std::uintptr_t key) const {
    for (std::size_t at = place_of(key); slots_[at].group; at = next(at))
      if (slots_[at].key == key)
        return &slots_[at];
    return nullptr;
  }
  ObjectGroup& obtain(std::uintptr_t key) {
    if (const Slot* const known = find(key))
      return *known->group;
    if (4 * (size_ + 1) > 3 * (mask_ + 1))
      grow();
    ++size_;
    return *insert({key, std::make_unique<ObjectGroup>(), 0}).group;
  }
  void erase(std::uintptr_t key) {
    std::size_t hole = place_of(key);
    while (slots_[hole].key != key || !slots_[hole].group)
      hole = next(hole);
    slots_[hole] = {};
    --size_;
    // A slot behind it moves up, if a search for it passes the hole.
    for (std::size_t at = next(hole); slots_[at].group; at = next(at))
      if (((at - place_of(slots_[at].key)) & mask_) >= ((at - hole) & mask_)) {
        slots_[hole] = std::move(slots_[at]);
        slots_[at] = {};
        hole = at;
      }
  }

private:
  // Not the bits that choose the shard.
  std::size_t place_of(std::uintptr_t key) const { return ((key * 0x9e3779b97f4a7c15ULL) >> 32) & mask_; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask_; }
  Slot& insert(Slot slot) {
    std::size_t at = place_of(slot.key);
    while (slots_[at].group)
      at = next(at);
    return slots_[at] = std::move(slot);
  }
  void grow() {
    const std::size_t before = mask_ + std::size_t{1};
    const std::unique_ptr<Slot[]> old = std::exchange(slots_, std::make_unique<Slot[]>(2 * before));
    mask_ = static_cast<std::uint32_t>(2 * before - 1);
    for (Slot& slot : std::span(old.get(), before))
      if (slot.group)
        insert(std::move(slot));
  }

  static constexpr std::uint32_t kFirst = 8;
  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kFirst);
  std::uint32_t mask_ = kFirst - 1;
  std::uint32_t size_ = 0;
};

class ObjectIndex {
public:
  static constexpr std::size_t kShards = 256;
  struct alignas(64) Shard {
    BiasedLock lock;
    unsigned vacant = 0; // of its objects
    ObjectGroups groups;
    std::uintptr_t last_begin = 0; // of the object that was sought last: many are sought again
    Mapping* last = nullptr;
  };
  static_assert(sizeof(Shard) == 64); // a cache line

  static std::size_t shard_number(std::uintptr_t begin) {
    return static_cast<std::size_t>((ObjectGroup::key_of(begin) * 0x9e3779b97f4a7c15ULL) >> 56);
  }
  Shard& shard(std::size_t number) { return shards_[number]; }
  Shard& shard_of(std::uintptr_t begin) { return shards_[shard_number(begin)]; }
  [[nodiscard]] std::unique_lock<BiasedLock> guard(const Mapping& mapping) {
    return std::unique_lock(shard_of(mapping.host.begin).lock);
  }

  // The caller holds the shard's lock.
  static Mapping* find(Shard& shard, std::uintptr_t begin) {
    if (shard.last_begin == begin)
      return shard.last;
    const ObjectGroups::Slot* const slot = shard.groups.find(ObjectGroup::key_of(begin));
    if (!slot)
      return nullptr;
    __builtin_prefetch(reinterpret_cast<const void*>(begin + slot->shift), 1);
    Mapping* at = slot->group->chain(begin);
    while (at && at->host.begin != begin)
      at = at->next;
    if (at)
      remember(shard, begin, at);
    return at;
  }
  static void insert(Shard& shard, Mapping& mapping) {
    ObjectGroup& group = shard.groups.obtain(ObjectGroup::key_of(mapping.host.begin));
    mapping.next = std::exchange(group.chain(mapping.host.begin), &mapping);
    remember(shard, mapping.host.begin, &mapping);
  }
  // Where the object's device memory is.
  static void note_device(Shard& shard, const Mapping& mapping) {
    if (ObjectGroups::Slot* const slot = shard.groups.find(ObjectGroup::key_of(mapping.host.begin)))
      slot->shift = reinterpret_cast<std::uintptr_t>(mapping.device) - mapping.host.begin;
  }
  static void erase(Shard& shard, Mapping& mapping) {
    const std::uintptr_t key = ObjectGroup::key_of(mapping.host.begin);
    ObjectGroup& group = *shard.groups.find(key)->group;
    Mapping** at = &group.chain(mapping.host.begin);
    while (*at != &mapping)
      at = &(*at)->next;
    *at = mapping.next;
    if (!mapping.next && group.is_empty())
      shard.groups.erase(key);
    if (shard.last == &mapping)
      remember(shard, 0, nullptr);
  }

private:
  static void remember(Shard& shard, std::uintptr_t begin, Mapping* mapping) {
    shard.last_begin = begin;
    shard.last = mapping;
  }

  std::array<Shard, kShards> shards_;
};

} // namespace omptool

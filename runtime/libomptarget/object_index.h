// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects by the address they begin at, which is how most calls name them. In shards with a lock each,
// so that threads with objects of their own do not meet; neighbours in memory are neighbours here.
#pragma once

#include "mapping_table.h"
#include "shard_lock.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace omptool {

// Objects that begin in the same kilobyte: a chain for each of its granules.
struct ObjectGroup {
  static constexpr int kBits = 10, kGranuleBits = 6;
  std::uintptr_t key = 0; // their addresses without the low bits
  std::size_t count = 0;
  std::array<Mapping*, 1U << (kBits - kGranuleBits)> chains{};

  static std::uintptr_t key_of(std::uintptr_t begin) { return begin >> kBits; }
  Mapping*& chain(std::uintptr_t begin) { return chains[(begin >> kGranuleBits) % chains.size()]; }
};

// The groups of a shard: open addressing (Knuth, volume 3, 6.4, algorithms L and R), so that a search is
// one step in most cases.
class ObjectGroups {
public:
  ObjectGroup* find(std::uintptr_t key) const {
    for (std::size_t at = place_of(key); slots_[at].group; at = (at + 1) & mask_)
      if (slots_[at].key == key)
        return slots_[at].group.get();
    return nullptr;
  }
  ObjectGroup& obtain(std::uintptr_t key) {
    if (ObjectGroup* known = find(key))
      return *known;
    if (4 * (size_ + 1) > 3 * slots_.size())
      grow();
    ++size_;
    return *insert({key, std::make_unique<ObjectGroup>()}).group;
  }
  void erase(std::uintptr_t key) {
    std::size_t hole = place_of(key);
    while (slots_[hole].key != key || !slots_[hole].group)
      hole = (hole + 1) & mask_;
    slots_[hole] = {};
    --size_;
    // What stands behind moves up, if a search for it passes the hole.
    for (std::size_t at = (hole + 1) & mask_; slots_[at].group; at = (at + 1) & mask_)
      if (((at - place_of(slots_[at].key)) & mask_) >= ((at - hole) & mask_)) {
        slots_[hole] = std::move(slots_[at]);
        slots_[at] = {};
        hole = at;
      }
  }

private:
  struct Slot {
    std::uintptr_t key = 0;
    std::unique_ptr<ObjectGroup> group;
  };
  // Not the bits that choose the shard.
  std::size_t place_of(std::uintptr_t key) const { return ((key * 0x9e3779b97f4a7c15ULL) >> 32) & mask_; }
  Slot& insert(Slot slot) {
    std::size_t at = place_of(slot.key);
    while (slots_[at].group)
      at = (at + 1) & mask_;
    return slots_[at] = std::move(slot);
  }
  void grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    mask_ = slots_.size() - 1;
    for (Slot& slot : before)
      if (slot.group)
        insert(std::move(slot));
  }

  std::vector<Slot> slots_ = std::vector<Slot>(8);
  std::size_t mask_ = 7;
  std::size_t size_ = 0;
};

class ObjectIndex {
public:
  static constexpr std::size_t kShards = 256;
  struct alignas(64) Shard {
    ShardLock lock;
    unsigned vacant = 0; // of its objects
    ObjectGroups groups;
  };

  static std::size_t shard_number(std::uintptr_t begin) {
    return static_cast<std::size_t>((ObjectGroup::key_of(begin) * 0x9e3779b97f4a7c15ULL) >> 56);
  }
  Shard& shard(std::size_t number) { return shards_[number]; }
  Shard& shard_of(std::uintptr_t begin) { return shards_[shard_number(begin)]; }
  [[nodiscard]] std::unique_lock<ShardLock> guard(const Mapping& mapping) {
    return std::unique_lock(shard_of(mapping.host.begin).lock);
  }

  // The caller holds the shard's lock.
  static Mapping* find(Shard& shard, std::uintptr_t begin) {
    ObjectGroup* const group = shard.groups.find(ObjectGroup::key_of(begin));
    Mapping* at = group ? group->chain(begin) : nullptr;
    while (at && at->host.begin != begin)
      at = at->next;
    return at;
  }
  static void insert(Shard& shard, Mapping& mapping) {
    ObjectGroup& group = shard.groups.obtain(ObjectGroup::key_of(mapping.host.begin));
    mapping.next = std::exchange(group.chain(mapping.host.begin), &mapping);
    ++group.count;
  }
  static void erase(Shard& shard, Mapping& mapping) {
    const std::uintptr_t key = ObjectGroup::key_of(mapping.host.begin);
    ObjectGroup& group = *shard.groups.find(key);
    Mapping** at = &group.chain(mapping.host.begin);
    while (*at != &mapping)
      at = &(*at)->next;
    *at = mapping.next;
    if (--group.count == 0)
      shard.groups.erase(key);
  }

private:
  std::array<Shard, kShards> shards_;
};

} // namespace omptool

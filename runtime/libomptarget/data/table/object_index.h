// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints to the objects that begin at an address, which is how most calls name them. The table has every object; a hint
// may be missing. Shards have a lock each, so that threads with objects of their own do not meet; neighbours in memory
// are neighbours here.
#pragma once

#include "data/table/mapping_table.h"
#include "threads/biased_lock.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace omptool {

class ObjectIndex {
public:
  static constexpr std::size_t kShards = kAddressShards;
  struct alignas(64) Shard {
    BiasedLock lock;
    unsigned vacant = 0;               // of its objects
    std::size_t objects = 0;           // how many there are, with a hint or without
    std::size_t size = 0;              // of `hints`, a power of two; 0: there are none yet
    std::unique_ptr<Mapping*[]> hints; // open addressing over a few places: what finds none there has no hint
  };
  static_assert(sizeof(Shard) == 64); // a cache line

  Shard& shard(std::size_t number) { return shards_[number]; }
  Shard& shard_of(const Mapping& mapping) { return shards_[mapping.shard]; }
  Shard& shard_of(std::uintptr_t begin) { return shards_[shard_number(begin)]; }
  [[nodiscard]] std::unique_lock<BiasedLock> guard(const Mapping& mapping) {
    return std::unique_lock(shards_[mapping.shard].lock);
  }

  // The caller holds the shard's lock here and below. Returns null where no hint is.
  static Mapping* find(const Shard& shard, std::uintptr_t begin) {
    for (std::size_t i = 0; i < kPlaces && shard.size != 0; ++i)
      if (Mapping* const hint = shard.hints[place(shard, begin, i)]; hint && hint->host.begin == begin)
        return hint;
    return nullptr;
  }
  static void insert(Shard& shard, Mapping& mapping) {
    if (2 * ++shard.objects > shard.size)
      grow(shard);
    put(shard, mapping);
  }
  static void erase(Shard& shard, const Mapping& mapping) {
    --shard.objects;
    for (std::size_t i = 0; i < kPlaces; ++i)
      if (Mapping*& hint = shard.hints[place(shard, mapping.host.begin, i)]; hint == &mapping)
        hint = nullptr;
  }

private:
  static constexpr std::size_t kPlaces = 4, kFirst = 8;

  // Objects of a shard differ in other bits than those that choose it.
  static std::size_t place(const Shard& shard, std::uintptr_t begin, std::size_t more) {
    return (static_cast<std::size_t>((begin * kAddressHash) >> 32) + more) & (shard.size - 1);
  }
  static void put(Shard& shard, Mapping& wanted) {
    for (std::size_t i = 0; i < kPlaces; ++i)
      if (Mapping*& hint = shard.hints[place(shard, wanted.host.begin, i)]; !hint) {
        hint = &wanted;
        return;
      }
    shard.hints[place(shard, wanted.host.begin, 0)] = &wanted; // another object loses its hint
  }
  static void grow(Shard& shard) {
    const std::size_t before = shard.size;
    const std::unique_ptr<Mapping*[]> old =
        std::exchange(shard.hints, std::make_unique<Mapping*[]>(before ? 2 * before : kFirst));
    shard.size = before ? 2 * before : kFirst;
    for (std::size_t i = 0; i < before; ++i)
      if (old[i])
        put(shard, *old[i]);
  }

  std::array<Shard, kShards> shards_;
};

} // namespace omptool

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
#include <mutex>
#include <unordered_map>

namespace omptool {

class ObjectIndex {
  // Objects that begin in the same kilobyte: a chain for each of its granules.
  static constexpr int kGranuleBits = 6, kGroupBits = 10;
  struct Group {
    std::array<Mapping*, 1U << (kGroupBits - kGranuleBits)> chains{};
    std::size_t count = 0;
  };

public:
  static constexpr std::size_t kShards = 256;
  struct alignas(64) Shard {
    ShardLock lock;
    unsigned vacant = 0; // of its objects
    std::unordered_map<std::uintptr_t, Group> groups;
  };

  static std::size_t shard_number(std::uintptr_t begin) {
    return static_cast<std::size_t>(((begin >> kGroupBits) * 0x9e3779b97f4a7c15ULL) >> 56);
  }
  Shard& shard(std::size_t number) { return shards_[number]; }
  Shard& shard_of(std::uintptr_t begin) { return shards_[shard_number(begin)]; }
  [[nodiscard]] std::unique_lock<ShardLock> guard(const Mapping& mapping) {
    return std::unique_lock(shard_of(mapping.host.begin).lock);
  }

  // The caller holds the shard's lock.
  static Mapping* find(Shard& shard, std::uintptr_t begin) {
    const auto group = shard.groups.find(begin >> kGroupBits);
    if (group == shard.groups.end())
      return nullptr;
    Mapping* at = group->second.chains[chain_of(begin)];
    while (at && at->host.begin != begin)
      at = at->next;
    return at;
  }
  static void insert(Shard& shard, Mapping& mapping) {
    Group& group = shard.groups[mapping.host.begin >> kGroupBits];
    Mapping*& first = group.chains[chain_of(mapping.host.begin)];
    mapping.next = first;
    first = &mapping;
    ++group.count;
  }
  static void erase(Shard& shard, Mapping& mapping) {
    const auto group = shard.groups.find(mapping.host.begin >> kGroupBits);
    Mapping** at = &group->second.chains[chain_of(mapping.host.begin)];
    while (*at != &mapping)
      at = &(*at)->next;
    *at = mapping.next;
    if (--group->second.count == 0)
      shard.groups.erase(group);
  }

private:
  static std::size_t chain_of(std::uintptr_t begin) {
    return (begin >> kGranuleBits) & ((1U << (kGroupBits - kGranuleBits)) - 1);
  }
  std::array<Shard, kShards> shards_;
};

} // namespace omptool

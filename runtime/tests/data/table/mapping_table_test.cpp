// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table beside a plain map from each byte to the mapping that holds it.
#include "data/table/mapping_table.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <ranges>
#include <set>

using namespace omptool;

namespace {

using Oracle = std::map<std::uintptr_t, std::uintptr_t>; // byte -> begin of its mapping

// Returns the bytes of the range that mappings hold.
auto held(const Oracle& oracle, HostRange range) {
  return std::ranges::subrange(oracle.lower_bound(range.begin), oracle.lower_bound(range.end));
}

std::set<std::uintptr_t> owners_of(const Oracle& oracle, HostRange range) {
  std::set<std::uintptr_t> owners;
  for (const auto& [byte, owner] : held(oracle, range))
    owners.insert(owner);
  return owners;
}

Overlap expected(const Oracle& oracle, HostRange wanted) {
  const std::size_t owners = owners_of(oracle, wanted).size();
  const auto bytes = static_cast<std::uintptr_t>(std::ranges::distance(held(oracle, wanted)));
  const bool all = bytes == wanted.end - wanted.begin;
  return owners == 0 ? Overlap::kNone : all && owners == 1 ? Overlap::kWhole : Overlap::kPartial;
}

} // namespace

TEST_CASE("the mapping table agrees with a map of bytes on random ranges") {
  std::mt19937 random(20);
  std::uniform_int_distribution<std::uintptr_t> place(0x1000, 0x1200);
  std::uniform_int_distribution<std::uintptr_t> length(1, 40);
  MappingTable table;
  Oracle oracle;
  for (int step = 0; step < 20000; ++step) {
    const std::uintptr_t begin = place(random);
    const HostRange range{begin, begin + length(random)};
    const Lookup found = table.find(range);
    REQUIRE(found.overlap == expected(oracle, range));
    if (found.overlap != Overlap::kNone) {
      CHECK(owners_of(oracle, range).contains(found.mapping->host.begin));
    }
    std::set<std::uintptr_t> overlapping;
    for (const auto& mapping : table.overlapping(range))
      overlapping.insert(mapping->host.begin);
    REQUIRE(overlapping == owners_of(oracle, range));
    if (found.overlap == Overlap::kNone) {
      auto made = std::make_unique<Mapping>(range, nullptr, nullptr);
      REQUIRE(table.insert(made));
      for (std::uintptr_t at = range.begin; at < range.end; ++at)
        oracle[at] = range.begin;
    } else if (step % 3 == 1) {
      auto refused = std::make_unique<Mapping>(range, nullptr, nullptr);
      REQUIRE_FALSE(table.insert(refused));
      REQUIRE(refused);
    } else if (step % 3 == 0) {
      const HostRange gone = found.mapping->host;
      table.erase(*found.mapping);
      for (std::uintptr_t at = gone.begin; at < gone.end; ++at)
        oracle.erase(at);
    }
    const void* address = reinterpret_cast<const void*>(place(random));
    const auto holder = oracle.find(reinterpret_cast<std::uintptr_t>(address));
    const Mapping* const held = table.find(HostRange::of(address, 1)).mapping;
    REQUIRE((held != nullptr) == (holder != oracle.end()));
    if (held) {
      CHECK(held->host.begin == holder->second);
    }
  }
  CHECK(!table.overlapping({0, UINTPTR_MAX}).empty());
}

TEST_CASE("the mapping table agrees with a plain map, whatever the order in which memory is mapped and unmapped") {
  std::mt19937 random(21);
  MappingTable table;
  std::map<std::uintptr_t, Mapping*> all;
  const auto map = [&](std::uintptr_t begin) {
    if (all.contains(begin))
      return;
    auto made = std::make_unique<Mapping>(HostRange{begin, begin + 8}, nullptr, nullptr);
    all[begin] = made.get();
    REQUIRE(table.insert(made));
  };
  const auto unmap = [&](auto at) {
    REQUIRE(table.erase(*at->second).get() == at->second);
    all.erase(at);
  };
  const auto agree = [&] {
    const std::vector<Mapping*> found = table.overlapping({0, UINTPTR_MAX});
    REQUIRE(found.size() == all.size());
    REQUIRE(std::equal(found.begin(), found.end(), all.begin(), all.end(),
                       [](const Mapping* one, const auto& other) { return one == other.second; }));
  };
  constexpr std::uintptr_t kMiddle = 1U << 20, kStep = 16;
  std::uintptr_t low = kMiddle, high = kMiddle;
  for (int round = 0; round < 60; ++round) {
    const int count = static_cast<int>(random() % 700), way = static_cast<int>(random() % 8);
    for (int i = 0; i < count; ++i) {
      if (way == 0 || way == 1)
        map(high += kStep);
      else if (way == 2)
        map(low -= kStep);
      else if (way == 3)
        map(low + kStep * (random() % ((high - low) / kStep + 1)));
      else if (all.empty())
        break;
      else if (way == 4 || way == 5)
        unmap(all.begin());
      else if (way == 6)
        unmap(std::prev(all.end()));
      else
        unmap(std::next(all.begin(), static_cast<std::ptrdiff_t>(random() % all.size())));
      if (i % 3 == 0 && !all.empty()) { // as a queue
        map(high += kStep);
        unmap(all.begin());
      }
    }
    agree();
  }
  while (!all.empty())
    unmap(all.begin());
  agree();
}

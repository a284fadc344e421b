// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects by address beside a plain map from each byte to the object that holds it.
#include "data/table/objects_by_address.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <ranges>
#include <set>

using namespace omptool;

namespace {

using Oracle = std::map<std::uintptr_t, std::uintptr_t>; // byte -> begin of its object

// Returns the bytes of the range that objects hold.
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

struct Records {
  std::atomic<std::int64_t> unsound{0};
  std::deque<Object> all;
  Object& make(HostRange range) {
    all.emplace_back(unsound).begin({.host = range}, nullptr, 0);
    return all.back();
  }
};

} // namespace

TEST_CASE("the table of objects agrees with a map of bytes on random ranges") {
  std::mt19937 random(20);
  std::uniform_int_distribution<std::uintptr_t> place(0x1000, 0x1200);
  std::uniform_int_distribution<std::uintptr_t> length(1, 40);
  Records records;
  ObjectsByAddress table;
  Oracle oracle;
  for (int step = 0; step < 20000; ++step) {
    const std::uintptr_t begin = place(random);
    const HostRange range{begin, begin + length(random)};
    const Lookup found = table.find(range);
    REQUIRE(found.overlap == expected(oracle, range));
    if (found.overlap != Overlap::kNone) {
      CHECK(owners_of(oracle, range).contains(found.object->host().begin));
    }
    std::set<std::uintptr_t> overlapping;
    for (const Object* const object : table.overlapping(range))
      overlapping.insert(object->host().begin);
    REQUIRE(overlapping == owners_of(oracle, range));
    if (found.overlap == Overlap::kNone) {
      REQUIRE(table.insert(range, records.make(range)));
      for (std::uintptr_t at = range.begin; at < range.end; ++at)
        oracle[at] = range.begin;
    } else if (step % 3 == 1) {
      REQUIRE_FALSE(table.insert(range, records.make(range)));
    } else if (step % 3 == 0) {
      const HostRange gone = found.object->host();
      table.erase(*found.object);
      for (std::uintptr_t at = gone.begin; at < gone.end; ++at)
        oracle.erase(at);
    }
    const void* address = reinterpret_cast<const void*>(place(random));
    const auto holder = oracle.find(reinterpret_cast<std::uintptr_t>(address));
    const Object* const held = table.find(HostRange::of(address, 1)).object;
    REQUIRE((held != nullptr) == (holder != oracle.end()));
    if (held) {
      CHECK(held->host().begin == holder->second);
    }
  }
  CHECK(!table.overlapping({0, UINTPTR_MAX}).empty());
}

TEST_CASE("the table of objects agrees with a plain map, whatever the order in which memory is mapped and unmapped") {
  std::mt19937 random(21);
  Records records;
  ObjectsByAddress table;
  std::map<std::uintptr_t, Object*> all;
  const auto map = [&](std::uintptr_t begin) {
    if (all.contains(begin))
      return;
    const HostRange range{begin, begin + 8};
    all[begin] = &records.make(range);
    REQUIRE(table.insert(range, *all[begin]));
  };
  const auto unmap = [&](auto at) {
    table.erase(*at->second);
    all.erase(at);
  };
  const auto agree = [&] {
    const std::vector<Object*> found = table.overlapping({0, UINTPTR_MAX});
    REQUIRE(found.size() == all.size());
    REQUIRE(std::equal(found.begin(), found.end(), all.begin(), all.end(),
                       [](const Object* one, const auto& other) { return one == other.second; }));
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

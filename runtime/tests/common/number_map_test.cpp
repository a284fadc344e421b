// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that a map of numbers finds exactly its elements, whatever was added and removed before.
#include "number_map.h"

#include <doctest/doctest.h>
#include <map>
#include <memory>
#include <random>

using omptool::NumberMap;

namespace {

// Adds and removes numbers at random, and compares with a std::map. `distance` lies between two numbers.
void compare(std::uintptr_t distance, std::size_t most) {
  NumberMap<std::unique_ptr<int>> map;
  std::map<std::uintptr_t, int> known;
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    const std::uintptr_t number = (1 + random() % most) * distance;
    if (random() % 2 == 0) {
      map[number] = std::make_unique<int>(round);
      known[number] = round;
    } else {
      const std::unique_ptr<int> taken = map.take(number);
      REQUIRE((taken != nullptr) == known.contains(number));
      if (taken)
        REQUIRE(*taken == known[number]);
      known.erase(number);
    }
    const std::uintptr_t other = (1 + random() % most) * distance;
    const std::unique_ptr<int>* const found = map.find(other);
    REQUIRE((found != nullptr) == known.contains(other));
    if (found)
      REQUIRE(**found == known[other]);
  }
}

} // namespace

TEST_CASE("a map of numbers finds what it has") {
  compare(1, 40); // it never grows
  compare(1, 3000);
  compare(64, 3000);
  compare(std::uintptr_t{1} << 40, 300); // all have the same first place
}

TEST_CASE("0 is no number of a map's") {
  NumberMap<int> map;
  map[1] = 1;
  CHECK(map.find(0) == nullptr);
  CHECK(map.take(0) == 0);
  CHECK(*map.find(1) == 1);
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a struct, beside a look at all rows.
#include "data/struct_parts.h"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace omptool;

TEST_CASE("what the parts of a struct enclose agrees with a look at all rows") {
  std::mt19937 random(54);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < random() % 12; ++i) {
      void* const begin = reinterpret_cast<void*>(0x1000 + random() % 40);
      const std::uint32_t flags = random() % 4 == 0 ? kCounts : random() % 4 == 0 ? kArgument : kTo;
      rows.push_back({begin, begin, static_cast<std::int64_t>(random() % 12), flags, nullptr});
    }
    const StructParts parts(rows);
    for (int question = 0; question < 20; ++question) {
      const std::uintptr_t begin = 0x1000 + random() % 40;
      const HostRange range{begin, begin + 1 + random() % 20};
      HostRange all{range.end, range.begin};
      for (const Row& row : rows)
        if (is_part(row) && range.contains(place_of(row)))
          all = enclosing_range(all, place_of(row));
      const bool any = std::any_of(rows.begin(), rows.end(),
                                   [&](const Row& row) { return is_part(row) && range.contains(place_of(row)); });
      REQUIRE(parts.any_in(range) == any);
      REQUIRE(parts.bound(range) == (any && all.begin == range.begin && all.end == range.end));
    }
  }
}

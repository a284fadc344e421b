// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pointers beside the parts that a mapper maps, beside a look at all parts.
#include "abi/llvm/attached_places.h"

#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace omptool;
using namespace omptool::llvm;

namespace {

HostRange range_of_part(const Component& part) {
  return HostRange::of(part.begin, part.size);
}

// Returns the part that should have room for the pointer, or null.
const Component* owner_of(HostRange pointer, const Components& parts) {
  const Component *before = nullptr, *behind = nullptr;
  for (const Component& part : parts) {
    if (part.type & kTypeAttach)
      continue;
    if (range_of_part(part).contains(pointer))
      return nullptr;
    if (range_of_part(part).begin < pointer.begin)
      before = !before || before->begin < part.begin ? &part : before;
    else
      behind = !behind || part.begin < behind->begin ? &part : behind;
  }
  return before ? before : behind;
}

} // namespace

TEST_CASE("each pointer that a mapper attaches is beside the part before it, or the first") {
  std::mt19937 random(55);
  const HostRange whole{0x1000, 0x1100};
  for (int trial = 0; trial < 400; ++trial) {
    Components parts;
    for (std::size_t i = 0; i < random() % 10; ++i) {
      void* const place = reinterpret_cast<void*>(0x1000 + 4 * (random() % 50));
      const bool attaches = random() % 2 == 0;
      parts.push_back({place, place, attaches ? 8 : static_cast<std::int64_t>(1 + random() % 16),
                       attaches ? static_cast<std::int64_t>(kTypeAttach) : 0});
    }
    const AttachedPlaces places(parts, whole);
    for (const Component& part : parts) {
      std::vector<void*> expected;
      for (const Component& other : parts)
        if (other.type & kTypeAttach)
          if (const Component* const owner = owner_of(HostRange::of(other.base, sizeof(void*)), parts);
              owner && !(part.type & kTypeAttach) && owner->begin == part.begin)
            expected.push_back(other.base);
      REQUIRE(places.beside(part) == expected);
    }
  }
}

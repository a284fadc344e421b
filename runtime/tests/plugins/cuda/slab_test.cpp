// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/slab.h"

#include <doctest/doctest.h>
#include <map>
#include <random>

using omptool::cuda::Slab;

TEST_CASE("pieces that are taken one after the other are neighbours, whatever their sizes") {
  Slab slab;
  std::size_t end = 0, next = 0;
  for (const std::size_t size : {64U, 1U, 256U, 1000U, 32768U, 0U, 257U}) {
    CHECK(slab.take(size) == next);
    CHECK((end == 0 || end == next || slab.are_neighbours(end, next)));
    end = next + std::max<std::size_t>(size, 1);
    next += std::max<std::size_t>((size + 255) / 256, 1) * 256;
  }
}

TEST_CASE("only what is behind a piece's own bytes is nobody's") {
  Slab slab;
  REQUIRE(slab.take(100) == 0);
  REQUIRE(slab.take(300) == 256);
  REQUIRE(slab.take(8) == 768);
  CHECK(slab.are_neighbours(100, 256));
  CHECK(slab.are_neighbours(556, 768));
  CHECK_FALSE(slab.are_neighbours(99, 256));  // a byte of the piece is left out
  CHECK_FALSE(slab.are_neighbours(100, 768)); // a piece is between
  CHECK_FALSE(slab.are_neighbours(100, 300)); // within the next
  CHECK_FALSE(slab.are_neighbours(0, 0));
  CHECK(slab.give_back(256));
  CHECK_FALSE(slab.are_neighbours(100, 768)); // somebody may take it
  CHECK(slab.are_neighbours(100, 256));
}

TEST_CASE("what is given back in any order is taken again in the same order") {
  Slab slab;
  for (const std::size_t first : {0U, 3U, 7U}) {
    for (std::size_t i = 0; i < 8; ++i)
      CHECK(slab.take(64) == 256 * i);
    for (std::size_t i = 0; i < 8; ++i)
      CHECK(slab.give_back((first + 3 * i) % 8 * 256));
    CHECK(slab.is_empty());
  }
}

TEST_CASE("what is no piece is not given back") {
  Slab slab;
  REQUIRE(slab.take(1000) == 0);
  for (const std::size_t wrong : {256U, 1U, 1024U, 4096U})
    CHECK_FALSE(slab.give_back(wrong));
  CHECK(slab.give_back(0));
  CHECK_FALSE(slab.give_back(0));
}

TEST_CASE("random pieces beside a map of them") {
  std::mt19937 random(7);
  Slab slab;
  std::map<std::size_t, std::size_t> pieces; // where each begins, and where the next may
  std::size_t full = 0;
  for (int i = 0; i < 20'000; ++i) {
    // Takes pieces mostly, then returns pieces mostly, by turns: the slab fills and empties.
    const bool takes = pieces.empty() || random() % 100 < (i / 2000 % 2 == 0 ? 70U : 30U);
    if (!takes) {
      const auto gone = std::next(pieces.begin(), static_cast<std::ptrdiff_t>(random() % pieces.size()));
      CHECK(slab.give_back(gone->first));
      pieces.erase(gone);
      continue;
    }
    const std::size_t size = 1 + random() % (random() % 4 == 0 ? Slab::kLargestPiece : 2000);
    const std::optional<std::size_t> at = slab.take(size);
    std::size_t hole = 0, before = 0;
    for (const auto& [begin, end] : pieces) {
      hole = std::max(hole, begin - before);
      before = end;
    }
    hole = std::max(hole, Slab::kSize - before);
    const std::size_t room = (size + 255) / 256 * 256;
    REQUIRE(at.has_value() == (hole >= room)); // it finds any room there is
    full += at ? 0 : 1;
    if (!at)
      continue;
    CHECK(*at % 256 == 0);
    const auto after = pieces.lower_bound(*at);
    CHECK((after == pieces.end() || *at + room <= after->first));
    CHECK((after == pieces.begin() || std::prev(after)->second <= *at));
    pieces[*at] = *at + room;
  }
  CHECK(full > 100);
}

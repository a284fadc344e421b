// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections that are not contiguous, as clang 22 and clang 23 write their dimensions.
#include "abi/llvm/sections.h"

#include <doctest/doctest.h>
#include <vector>

using omptool::llvm::Dimension;
using omptool::llvm::Pieces;
using omptool::llvm::pieces_of;

namespace {

struct Answer {
  std::vector<std::uint64_t> offsets;
  std::uint64_t size;
  bool operator==(const Answer&) const = default;
};

Answer pieces(const std::vector<Dimension>& dimensions, bool by_bytes = false, bool may_ask = false) {
  const std::optional<Pieces> found = pieces_of(dimensions, [&] {
    CHECK(may_ask);
    return by_bytes;
  });
  REQUIRE(found);
  Answer answer{{}, found->size};
  for (std::uint64_t i = 0; i < found->count; ++i)
    answer.offsets.push_back(found->offset_of(i));
  return answer;
}

bool is_refused(const std::vector<Dimension>& dimensions) {
  return !pieces_of(dimensions, [] { return false; });
}

} // namespace

TEST_CASE("a section has the same pieces by either compiler's dimensions") {
  // int a[20][30]: a[0:2][4:5], a[0:2:3][4:5]
  CHECK(pieces({{0, 2, 120}, {4, 5, 4}, {0, 1, 4}}) == Answer{{16, 136}, 20});
  CHECK(pieces({{0, 2, 120}, {16, 5, 4}, {0, 4, 1}}) == Answer{{16, 136}, 20});
  CHECK(pieces({{0, 2, 360}, {16, 5, 4}, {0, 4, 1}}) == Answer{{16, 376}, 20});
  // Strided section a[2:3:2][4:5], which only clang 23 can express.
  CHECK(pieces({{240, 3, 240}, {16, 5, 4}, {0, 4, 1}}) == Answer{{256, 496, 736}, 20});
  // int v[]: v[3:4:2]
  CHECK(pieces({{3, 4, 8}, {0, 1, 4}}) == Answer{{12, 20, 28, 36}, 4});
  CHECK(pieces({{12, 4, 8}, {0, 4, 1}}) == Answer{{12, 20, 28, 36}, 4});
  // int a[20][30]: a[3:2][0:30], all of whose rows touch
  CHECK(pieces({{360, 2, 120}, {0, 30, 4}, {0, 4, 1}}) == Answer{{360}, 240});
  CHECK(pieces({{3, 2, 120}, {0, 30, 4}, {0, 1, 4}}) == Answer{{360}, 240});
}

TEST_CASE("where elements have one byte, only the outer offsets have to be asked about") {
  const std::vector<Dimension> inner{{0, 2, 30}, {4, 5, 1}, {0, 1, 1}};
  CHECK(pieces(inner) == Answer{{4, 34}, 5});
  CHECK(pieces({{3, 4, 2}, {0, 1, 1}}) == Answer{{3, 5, 7, 9}, 1});
  const std::vector<Dimension> outer{{60, 2, 30}, {4, 5, 1}, {0, 1, 1}};
  CHECK(pieces(outer, true, true) == Answer{{64, 94}, 5});
  CHECK(pieces(outer, false, true) == Answer{{1804, 1834}, 5});
}

TEST_CASE("an offset in bytes is bounded by no count") {
  const std::uint64_t far = std::uint64_t{1} << 40;
  CHECK(pieces({{far, 2, far}, {0, 4, 1}}) == Answer{{far, 2 * far}, 4});
}

TEST_CASE("dimensions that overflow are refused") {
  const std::uint64_t large = std::uint64_t{1} << 62;
  CHECK(is_refused({{0, large, 4}, {0, 4, 1}}));
  CHECK(is_refused({{large, 1, 4}, {large, 1, 4}, {0, 4, 1}}));
  CHECK(is_refused({{large, 1, 4}, {0, 1, 4}}));
  CHECK(is_refused({{~0ULL, 1, 1}, {0, 4, 1}}));
  CHECK(is_refused({{0, 3, large}, {0, 4, 1}}));
  CHECK(is_refused({{0, 2, large}, {0, 3, large}, {0, 4, 1}}));
  CHECK(is_refused({{0, ~0ULL, ~0ULL}, {0, 4, 1}}));
  CHECK(is_refused({{0, 5, 0}, {0, 4, 1}})); // each piece again and again
  CHECK(is_refused({{0, 2, 8}, {0, ~0ULL, 1}}));
  CHECK(is_refused({{0, ~0ULL, 4}, {0, 0, 1}}));
}

TEST_CASE("what is empty has no pieces") {
  CHECK(pieces({{0, 0, 120}, {4, 5, 4}, {0, 1, 4}}).offsets.empty());
  CHECK(pieces({{0, 3, 120}, {4, 0, 4}, {0, 1, 4}}).offsets.empty());
  CHECK(pieces({{0, 0, 1}}).offsets.empty());
}

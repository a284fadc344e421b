// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "large_blocks.h"

#include "checked_memory.h"

#include <cstdint>
#include <cstring>
#include <doctest/doctest.h>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace large_blocks = omptool::large_blocks;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Release {
  void operator()(char* memory) const { large_blocks::release(memory); }
};
using Object = std::unique_ptr<char, Release>;

// Object written to from its first byte to its last.
Object object(std::size_t size, char filler = 1) {
  Object made(static_cast<char*>(large_blocks::allocate(size)));
  REQUIRE(made);
  std::memset(made.get(), filler, size);
  return made;
}

std::uintptr_t address(const Object& of) {
  return reinterpret_cast<std::uintptr_t>(of.get());
}

} // namespace

TEST_CASE("blocks of every size are aligned, and lie apart") {
  std::vector<std::pair<Object, std::size_t>> made;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1025}, kMiB, 4 * kMiB - 1, 4 * kMiB,
                                 4 * kMiB + 1, 6 * kMiB, 65 * kMiB})
    made.emplace_back(object(size, static_cast<char>(made.size())), size);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto& [memory, size] = made[i];
    CHECK(address(memory) % large_blocks::kAlignment == 0);
    CHECK(std::vector<char>(size, static_cast<char>(i)) == std::vector<char>(memory.get(), memory.get() + size));
  }
}

TEST_CASE("there is no block for a size that cannot be, and none of no block") {
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 2, std::size_t{1} << 47})
    CHECK(large_blocks::allocate(size) == nullptr);
  large_blocks::release(nullptr);
}

TEST_CASE("neighbours begin in different lines of a page" * doctest::skip(omptool::kMemoryIsChecked)) {
  std::set<std::uintptr_t> lines;
  std::vector<Object> neighbours;
  for (int i = 0; i < 64; ++i) {
    neighbours.emplace_back(static_cast<char*>(large_blocks::allocate(80 * kMiB))); // not touched
    lines.insert(address(neighbours.back()) % 4096);
  }
  CHECK(lines.size() == neighbours.size());
}

TEST_CASE("a very large block is used again, by what needs at least half of it" *
          doctest::skip(omptool::kMemoryIsChecked)) {
  const std::uintptr_t first = address(object(16 * kMiB));
  {
    const Object small = object(7 * kMiB), same = object(16 * kMiB), other = object(16 * kMiB);
    CHECK(address(small) != first);
    CHECK(address(same) == first);
    CHECK(address(other) != first);
  }
  const std::uintptr_t again = address(object(8 * kMiB));
  CHECK(address(object(16 * kMiB)) == again);
}

TEST_CASE("threads come and go with very large blocks") {
  std::vector<std::thread> threads;
  for (char name = 1; name <= 4; ++name)
    threads.emplace_back([name] {
      for (int round = 0; round < 50; ++round) {
        const std::size_t size = (4 + static_cast<std::size_t>((round * name) % 5) * 8) * kMiB;
        const Object one(static_cast<char*>(large_blocks::allocate(size)));
        one.get()[0] = one.get()[size / 2] = one.get()[size - 1] = name;
        CHECK(one.get()[0] + one.get()[size / 2] + one.get()[size - 1] == 3 * name);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
}

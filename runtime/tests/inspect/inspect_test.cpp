// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// packager's compiled helper over damaged files: that it agrees with its twin is tested in Python, here that it reads
// and writes nothing but what it was given. Each is in memory of its size, so that AddressSanitizer sees a byte too
// far.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" std::int64_t omptool_inspect_cubin(const std::uint8_t* bytes, std::uint64_t size, std::int32_t resources,
                                              std::uint8_t* out, std::uint64_t room) noexcept;
extern "C" std::int64_t omptool_ptx_lines(const char* text, std::uint64_t size, std::uint64_t* out,
                                          std::uint64_t room) noexcept;

namespace {

constexpr std::uint64_t kRoom = 1 << 16;
constexpr std::uint64_t kWords = kRoom / sizeof(std::uint64_t);
constexpr std::uint64_t kHead = 5 * sizeof(std::uint64_t);
const char* const kCubins[] = {"compiled.cubin", "debug.cubin", "driver.cubin", "relocatable.cubin"};

std::string content(const std::string& name) {
  std::ifstream file(TEST_DATA "/" + name, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::int64_t inspected(const std::string& file, std::uint64_t room = kRoom) {
  const auto bytes = std::make_unique<std::uint8_t[]>(file.size());
  std::copy(file.begin(), file.end(), bytes.get());
  const auto out = std::make_unique<std::uint8_t[]>(room);
  const std::int64_t size = omptool_inspect_cubin(bytes.get(), file.size(), 1, out.get(), room);
  CHECK(size >= -1);
  CHECK(size <= static_cast<std::int64_t>(room));
  return size;
}

std::vector<std::uint64_t> lines(const std::string& ptx, std::uint64_t room = kWords) {
  const auto text = std::make_unique<char[]>(ptx.size());
  std::copy(ptx.begin(), ptx.end(), text.get());
  const auto out = std::make_unique<std::uint64_t[]>(room);
  const std::int64_t count = omptool_ptx_lines(text.get(), ptx.size(), out.get(), room);
  return {out.get(), out.get() + std::max<std::int64_t>(count, 0)};
}

} // namespace

TEST_SUITE("inspect") {
  TEST_CASE("cubins are answered for, linked or not") {
    for (const char* name : {"driver.cubin", "debug.cubin", "relocatable.cubin"})
      CHECK(inspected(content(name)) > static_cast<std::int64_t>(kHead));
    CHECK(inspected("") == -1);
  }

  TEST_CASE("an answer that has no room is none") {
    const std::string file = content("driver.cubin");
    const auto needed = static_cast<std::uint64_t>(inspected(file));
    CHECK(inspected(file, needed) == static_cast<std::int64_t>(needed));
    for (std::uint64_t room = 0; room < needed; ++room)
      CHECK(inspected(file, room) == -1);
  }

  TEST_CASE("files that end anywhere") {
    for (const char* const name : kCubins) {
      const std::string file = content(name);
      for (std::size_t size = 0; size < file.size(); size += size < 256 ? 1 : 31)
        inspected(file.substr(0, size));
    }
  }

  TEST_CASE("files with flipped bytes") {
    std::mt19937 random(14);
    for (const char* const name : kCubins) {
      const std::string file = content(name);
      for (int i = 0; i < 500; ++i) {
        std::string damaged = file;
        for (std::size_t flips = 1 + random() % 3; flips > 0; --flips)
          damaged[random() % damaged.size()] = static_cast<char>(random());
        inspected(damaged);
      }
    }
  }

  // Words of headers and tables, where a byte seldom makes a number that is large, or just past an end.
  TEST_CASE("files with other numbers") {
    std::mt19937 random(41);
    for (const char* const name : kCubins) {
      const std::string file = content(name);
      const std::uint64_t numbers[] = {0, 1, ~0ull, ~0ull / 2, ~0u, file.size(), file.size() - 1, ~0ull - file.size()};
      for (int i = 0; i < 500; ++i) {
        std::string damaged = file;
        const std::size_t width = std::size_t{1} << (1 + random() % 3);
        const std::uint64_t number = numbers[random() % std::size(numbers)];
        std::memcpy(&damaged[random() % (damaged.size() / width) * width], &number, width);
        inspected(damaged);
      }
    }
  }

  TEST_CASE("lines of PTX") {
    CHECK(lines("\n.entry f\n  .reg r\n\t .visible x\n.\n\n.ta") == std::vector<std::uint64_t>{0, 18, 34});
    CHECK(lines("").empty());
    CHECK(lines("\n").empty());
    CHECK(lines("\n \t").empty());
    CHECK(lines("\n .").empty());
    CHECK(lines("\n.e").empty());
    CHECK(lines("\n.en\n.en").size() == 2);
    CHECK(lines("\n.en\n.en", 1).empty());
    const std::string text = content("driver.ptx");
    for (std::size_t size = 0; size <= text.size(); ++size)
      CHECK(lines(text.substr(0, size)).size() <= lines(text).size());
  }
}

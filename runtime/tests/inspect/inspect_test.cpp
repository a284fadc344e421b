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
#include <elf.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

extern "C" std::int64_t omptool_inspect_cubin(const std::uint8_t* bytes, std::uint64_t room, std::uint64_t size,
                                              std::int32_t depth, std::uint8_t* out, std::uint64_t out_room) noexcept;
extern "C" std::int64_t omptool_lz4_image(const std::uint8_t* bytes, std::uint64_t stored, std::uint8_t* out,
                                          std::uint64_t room, std::uint64_t size, std::int32_t is_beginning) noexcept;
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

// Returns the bytes in memory of their size.
std::unique_ptr<std::uint8_t[]> copy_of(const std::string& bytes) {
  auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

std::string text_of(const std::uint8_t* bytes, std::uint64_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::int64_t inspected(const std::string& file, std::uint64_t room = kRoom) {
  const auto bytes = copy_of(file);
  const auto out = std::make_unique<std::uint8_t[]>(room);
  std::int64_t size = -1;
  for (const std::int32_t depth : {0, 1, 2}) {
    size = omptool_inspect_cubin(bytes.get(), file.size(), file.size(), depth, out.get(), room);
    CHECK(size >= -1);
    CHECK(size <= static_cast<std::int64_t>(room));
  }
  return size;
}

// Returns what a block of LZ4 inflates to, with room for `room` bytes; "" where the helper does not answer.
std::string inflated(const std::string& block, std::uint64_t room, bool is_beginning = false) {
  const auto bytes = copy_of(block);
  const auto out = std::make_unique<std::uint8_t[]>(room);
  const std::int64_t size = omptool_lz4_image(bytes.get(), block.size(), out.get(), room, room, is_beginning);
  CHECK(size >= -1);
  CHECK(size <= static_cast<std::int64_t>(room));
  return text_of(out.get(), static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0)));
}

// Returns both ends of a larger image in `room` bytes, and zeros between them.
std::string ends(const std::string& image, std::uint64_t room) {
  const std::uint64_t head = room - room / 4, tail = room / 8;
  return image.substr(0, head) + std::string(room - head - tail, '\0') + image.substr(image.size() - tail);
}

// The ends of what a block of LZ4 inflates to; "" where the helper does not answer, or answers for another size.
std::string inflated_ends(const std::string& block, std::uint64_t room, std::uint64_t size) {
  const auto bytes = copy_of(block);
  const auto out = std::make_unique<std::uint8_t[]>(room);
  if (omptool_lz4_image(bytes.get(), block.size(), out.get(), room, size, 0) != static_cast<std::int64_t>(size))
    return "";
  std::memset(out.get() + (room - room / 4), 0, room - room / 8 - (room - room / 4));
  return text_of(out.get(), room);
}

// Returns the cubin with zeros in front of its tables of headers, which are at its end.
std::string stretched(std::string file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  const std::uint64_t tables = std::min(header.e_shoff, header.e_phoff ? header.e_phoff : header.e_shoff);
  const std::uint64_t count = 8 * file.size();
  file.insert(tables, count, '\0');
  header.e_shoff += count;
  header.e_phoff += header.e_phoff ? count : 0;
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

// Returns the helper's result for a cubin of which `room` bytes contain both ends.
std::string said_of_ends(const std::string& file, std::uint64_t room) {
  const std::string kept = room < file.size() ? ends(file, room) : file;
  const auto bytes = copy_of(kept);
  std::vector<std::uint8_t> out(kRoom);
  const std::int64_t size = omptool_inspect_cubin(bytes.get(), kept.size(), file.size(), 2, out.data(), out.size());
  return text_of(out.data(), static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0)));
}

// A sequence of a block, with the bytes that follow its token where a length is 15 or more.
std::string sequence(const std::string& literals, std::uint16_t distance, std::size_t match) {
  const auto more = [](std::size_t length) {
    return length < 15 ? std::string()
                       : std::string((length - 15) / 255, '\xff') + static_cast<char>((length - 15) % 255);
  };
  const std::size_t rest = match - 4,
                    token = std::min<std::size_t>(literals.size(), 15) << 4 | std::min<std::size_t>(rest, 15);
  std::string found(1, static_cast<char>(token));
  found += more(literals.size()) + literals;
  found += static_cast<char>(distance & 0xFF);
  found += static_cast<char>(distance >> 8);
  return found + more(rest);
}

std::string last(const std::string& literals) {
  return static_cast<char>(literals.size() << 4) + literals;
}

// Returns sample sequences of each kind, short and long, far and near, and their text.
std::pair<std::string, std::string> sample(int sequences = 400, std::size_t longest = 700) {
  std::string block, text;
  std::mt19937 random(29);
  for (int i = 0; i < sequences; ++i) {
    std::string literals(random() % (i % 50 == 0 ? longest : 20), '\0');
    for (char& one : literals)
      one = static_cast<char>(random());
    const std::size_t have = text.size() + literals.size();
    const std::size_t match = 4 + random() % (i % 40 == 0 ? longest : 24);
    if (have == 0)
      continue;
    const std::size_t distance = 1 + random() % std::min<std::size_t>(have, i % 3 == 0 ? 20 : 65535);
    block += sequence(literals, static_cast<std::uint16_t>(distance), match);
    text += literals;
    for (std::size_t n = 0; n < match; ++n)
      text += text[text.size() - distance];
  }
  return {block + last("the last ones"), text + "the last ones"};
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

  // Changes words of headers and tables, because changed bytes seldom make a number that is large, or just past an end.
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

  TEST_CASE("blocks of LZ4") {
    const auto [block, text] = sample();
    CHECK(inflated(block, text.size()) == text);
    CHECK(inflated(block, text.size() - 1).empty());
    CHECK(inflated("", 9).empty());
    CHECK(inflated("", 0).empty());
    for (std::size_t room = 1; room < text.size(); room += room < 200 ? 1 : 97)
      CHECK(inflated(block, room, true) == text.substr(0, room));
  }

  TEST_CASE("blocks of LZ4 that lead outside") {
    const std::string begun = "0123456789abcdef", end = last("the last ones");
    CHECK(inflated(sequence(begun, 16, 8) + end, 37).size() == 37);
    CHECK(inflated(sequence(begun, 0, 8) + end, 37).empty());  // from where it is to go
    CHECK(inflated(sequence(begun, 17, 8) + end, 37).empty()); // before the first byte
    CHECK(inflated(sequence(begun, 65535, 8) + end, 37).empty());
    CHECK(inflated(sequence("", 1, 8) + end, 21).empty());
    CHECK(inflated(sequence(begun, 16, 4000) + end, 37).empty()); // a match longer than the room
    CHECK(inflated(sequence(begun, 16, 4000) + end, 37, true).size() == 37);
    CHECK(inflated("\xf0" + std::string(90, '\xff'), 1 << 10).empty()); // literals that are not there
    CHECK(inflated("\xf0" + std::string(90, '\xff'), 1 << 10, true).empty());
  }

  TEST_CASE("blocks of LZ4 that end anywhere, or have other bytes") {
    const auto [block, text] = sample();
    for (std::size_t size = 0; size < block.size(); ++size) {
      CHECK(inflated(block.substr(0, size), text.size()).size() < text.size());
      inflated(block.substr(0, size), text.size() / 2, true);
    }
    std::mt19937 random(15);
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = block;
      for (std::size_t flips = 1 + random() % 3; flips > 0; --flips)
        damaged[random() % damaged.size()] = static_cast<char>(random() % 2 ? random() : 0xFF);
      inflated(damaged, text.size() - random() % 40);
      inflated(damaged, text.size() / (1 + random() % 9), true);
    }
  }

  TEST_CASE("blocks of LZ4 that are larger than the memory") {
    const std::uint64_t smallest = 1 << 20;
    const auto [block, text] = sample(4000, 100'000);
    REQUIRE(text.size() > 8 * smallest);
    for (const std::uint64_t room : {smallest, smallest + 1, smallest + 12'345, text.size() / 2, text.size() - 1})
      CHECK(inflated_ends(block, room, text.size()) == ends(text, room));
    CHECK(inflated_ends(block, smallest - 1, text.size()).empty());
    CHECK(inflated_ends(block, smallest, text.size() - 1).empty());
    CHECK(inflated_ends(block, smallest, text.size() + 1).empty());
    std::mt19937 random(16);
    for (int i = 0; i < 60; ++i) {
      std::string damaged = block;
      for (std::size_t flips = 1 + random() % 3; flips > 0; --flips)
        damaged[random() % damaged.size()] = static_cast<char>(random() % 2 ? random() : 0xFF);
      damaged.resize(random() % 2 ? damaged.size() : random() % damaged.size());
      inflated_ends(damaged, smallest + random() % 100, text.size() - random() % 40);
    }
  }

  TEST_CASE("cubins of which both ends are there") {
    for (const char* const name : kCubins) {
      const std::string file = stretched(content(name)), whole = said_of_ends(file, file.size());
      CHECK(whole.empty() == (inspected(content(name)) < 0));
      std::size_t answered = 0;
      for (std::uint64_t room = 0; room < file.size(); room += 61) {
        const std::string found = said_of_ends(file, room);
        CHECK((found.empty() || found == whole));
        answered += !found.empty();
      }
      CHECK((answered > 0) == !whole.empty());
    }
    std::mt19937 random(42);
    const std::string file = stretched(content("driver.cubin"));
    for (int i = 0; i < 2000; ++i) {
      std::string damaged = file;
      for (std::size_t flips = 1 + random() % 3; flips > 0; --flips)
        damaged[random() % damaged.size()] = static_cast<char>(random() % 2 ? random() : 0xFF);
      damaged[32 + random() % 32] = static_cast<char>(random()); // in the header, where the tables are
      said_of_ends(damaged, file.size() - 1 - random() % (file.size() / 2));
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

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of workers' devices: the program hands out addresses, and asks the worker seldom.
#include "mpi/memory.h"

#include <doctest/doctest.h>
#include <map>
#include <random>
#include <vector>

using omptool::mpi::Memory;

namespace {

// A device that gives addresses, and nothing behind them.
struct FakeDevice {
  std::map<std::uint64_t, std::size_t> given; // and not given back
  std::size_t room = std::size_t{1} << 40, asked = 0;
  std::uint64_t next = 0x10000;

  std::uint64_t more(std::size_t size) {
    ++asked;
    std::size_t used = size;
    for (const auto& [address, one] : given)
      used += one;
    if (used > room)
      return 0;
    const std::uint64_t address = next;
    next += size + 4096;
    given.emplace(address, size);
    return address;
  }
  std::int32_t give_back(std::uint64_t address) { return given.erase(address) == 1 ? 0 : 1; }
  Memory memory() {
    return Memory([this](std::size_t size) { return more(size); },
                  [this](std::uint64_t address) { return give_back(address); });
  }
};

} // namespace

TEST_CASE("pieces that are in use lie apart, within what the device has given") {
  FakeDevice device;
  Memory memory = device.memory();
  std::map<std::uint64_t, std::size_t> used;
  std::minstd_rand random(1);
  for (int round = 0; round < 20000; ++round) {
    if (used.size() > 200 || (!used.empty() && random() % 3 == 0)) {
      const auto at = std::next(used.begin(), static_cast<std::ptrdiff_t>(random() % used.size()));
      REQUIRE(memory.release(at->first) == 0);
      used.erase(at);
      continue;
    }
    const std::size_t size = random() % 2 ? random() % 3000 : random() % 300000;
    const std::uint64_t address = memory.allocate(size);
    REQUIRE(address != 0);
    const auto block = std::prev(device.given.upper_bound(address));
    REQUIRE(address + size <= block->first + block->second);
    const auto next = used.lower_bound(address);
    REQUIRE((next == used.end() || address + size <= next->first));
    if (next != used.begin())
      REQUIRE(std::prev(next)->first + std::prev(next)->second <= address);
    used.emplace(address, size);
  }
}

TEST_CASE("what comes and goes again asks the device for nothing") {
  FakeDevice device;
  Memory memory = device.memory();
  const auto round = [&] {
    std::vector<std::uint64_t> all;
    for (const std::size_t size : {1UL, 64UL, 100UL, 4000UL, 32768UL, 32769UL, 1UL << 20, 8UL << 20})
      all.push_back(memory.allocate(size));
    for (const std::uint64_t address : all)
      CHECK(memory.release(address) == 0);
  };
  round();
  const std::size_t before = device.asked;
  for (int i = 0; i < 100; ++i)
    round();
  CHECK(device.asked == before);
}

TEST_CASE("kept memory goes back when there is no other, and very large memory at once") {
  FakeDevice device;
  device.room = 100 << 20;
  Memory memory = device.memory();
  const std::uint64_t first = memory.allocate(60 << 20);
  CHECK(memory.allocate(60 << 20) == 0);
  CHECK(memory.release(first) == 0);
  CHECK(device.given.size() == 1);
  const std::uint64_t second = memory.allocate(90 << 20);
  CHECK(second != 0);
  CHECK(device.given.size() == 1);
  CHECK(memory.release(second) == 0);
  CHECK(device.given.empty());
}

TEST_CASE("addresses that were not given, or have been released, are refused") {
  FakeDevice device;
  Memory memory = device.memory();
  CHECK(memory.release(0x1234) != 0);
  const std::uint64_t piece = memory.allocate(100), large = memory.allocate(1 << 20);
  CHECK(memory.release(piece + 1) != 0);
  CHECK(memory.release(large + 4096) != 0);
  CHECK(memory.release(piece) == 0);
  CHECK(memory.release(piece) != 0);
  CHECK(memory.release(large) == 0);
  CHECK(memory.release(large) != 0);
  CHECK(memory.allocate(SIZE_MAX) == 0);
}

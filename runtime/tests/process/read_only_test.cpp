// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/read_only.h"

#include <atomic>
#include <doctest/doctest.h>
#include <thread>

using omptool::HostRange;
using omptool::ReadOnlyMemory;

namespace {

constexpr HostRange kLow{0x10000, 0x12000}, kHigh{0x7fff'fff0'0000, 0x7fff'fff3'0000};

} // namespace

TEST_CASE("read-only memory is known from its first byte to its last, as long as its library is there") {
  ReadOnlyMemory memory;
  memory.add({kLow, kHigh});
  for (const HostRange range : {kLow, kHigh}) {
    CHECK(memory.hold(range.begin));
    CHECK(memory.hold(range.end - 1));
    CHECK_FALSE(memory.hold(range.begin - 1));
    CHECK_FALSE(memory.hold(range.end));
  }
  CHECK_FALSE(memory.hold(0));
  memory.remove({kLow, kHigh});
  CHECK_FALSE(memory.hold(kLow.begin));
  CHECK_FALSE(memory.hold(kHigh.begin));
}

TEST_CASE("read-only memory at addresses that no word has room for is not known") {
  ReadOnlyMemory memory;
  memory.add({{std::uintptr_t{1} << 48, (std::uintptr_t{1} << 48) + 0x1000}, {0x1000, std::uintptr_t{1} << 44}});
  CHECK_FALSE(memory.hold(std::uintptr_t{1} << 48));
  CHECK_FALSE(memory.hold(0));
  CHECK_FALSE(memory.hold(0x1000));
}

TEST_CASE("nobody reads the begin of one library and the end of another that takes its place") {
  ReadOnlyMemory memory;
  std::atomic<bool> over{false};
  std::thread loader([&] {
    while (!over.load(std::memory_order_relaxed)) {
      memory.add({kHigh});
      memory.remove({kHigh});
      memory.add({kLow});
      memory.remove({kLow});
    }
  });
  int between = 0;
  for (int i = 0; i < 200'000; ++i)
    between += memory.hold(kLow.end + 0x1000);
  over = true;
  loader.join();
  CHECK(between == 0);
}

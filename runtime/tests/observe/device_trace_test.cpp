// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of a device's trace, from threads that fill each other's buffers.
#include "observe/ompt/device_trace.h"

#include <atomic>
#include <doctest/doctest.h>
#include <thread>
#include <vector>

using namespace omptool::ompt;

namespace {

constexpr int kThreads = 4, kEach = 2000;
std::atomic<std::size_t> come{0}; // bytes of records that the tool has got

void request(int, void** bytes, std::size_t* size) {
  *size = sizeof(Record);
  *bytes = ::operator new(*size);
}
void complete(int, void* bytes, std::size_t used, std::uint64_t, int) {
  come += used;
  ::operator delete(bytes);
}

} // namespace

TEST_CASE("a trace of a device loses no record of threads that share a buffer of one") {
  DeviceTrace trace(0, 1);
  REQUIRE(trace.set(true, 0) == kSetAlways);
  REQUIRE(trace.start(request, complete));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      Record record{};
      record.type = kSubmit;
      for (int k = 0; k < kEach; ++k)
        trace.add(record);
    });
  for (std::thread& one : threads)
    one.join();
  CHECK(trace.stop());
  CHECK(come == sizeof(Record) * kThreads * kEach);
}

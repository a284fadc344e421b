// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "thread_exit.h"

#include <atomic>
#include <doctest/doctest.h>
#include <thread>
#include <vector>

using namespace omptool;

TEST_CASE("a function is called with the last value when its thread exits") {
  static std::vector<int> seen;
  static constinit ThreadExit exit([](void* value) { seen.push_back(*static_cast<int*>(value)); });
  int first = 1, second = 2;
  std::thread([&] {
    CHECK(exit.arm(&first));
    CHECK(exit.arm(&second));
    CHECK(seen.empty());
  }).join();
  CHECK(seen == std::vector{2});
  std::thread([] {}).join(); // which has not armed it
  CHECK(seen.size() == 1);
}

TEST_CASE("the function may arm the thread that exits again") {
  static int left = 2;
  static void (*again)(void*) = nullptr;
  static constinit ThreadExit exit([](void* value) { again(value); });
  again = [](void* value) {
    if (--left > 0)
      exit.arm(value);
  };
  std::thread([] { exit.arm(&left); }).join();
  CHECK(left == 0);
}

TEST_CASE("threads that arm at once share one key") {
  static std::atomic<int> calls{0};
  static constinit ThreadExit exit([](void*) { ++calls; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([] { CHECK(exit.arm(&calls)); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(calls == 8);
}

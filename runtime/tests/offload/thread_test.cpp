// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several host threads at once; ThreadSanitizer watches.
#include "support.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <thread>
#include <unistd.h>

namespace {

template <typename Body> void in_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads)
    thread.join();
}

} // namespace

TEST_CASE("threads map and launch on objects of their own") {
  use_main();
  std::atomic<int> wrong{0};
  in_threads(4, [&](int) {
    for (int round = 0; round < 200; ++round) {
      int values[16] = {};
      Rows data{row(values, TOFROM | REF)};
      data.begin();
      Rows region{row(values, TOFROM | REF), value(16)};
      wrong += region.region(&host::add_one) != 0;
      wrong += region.teams(&host::add_ten, 1, 1) != 0;
      data.end();
      wrong += values[0] != 11 || values[15] != 11;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads share objects that come and go") {
  use_main();
  static int shared[4] = {7, 7, 7, 7};
  std::atomic<int> wrong{0};
  in_threads(4, [&](int) {
    for (int round = 0; round < 300; ++round) {
      Rows data{row(shared, TO | REF)};
      data.begin();
      int copy[4] = {};
      void* there = nullptr;
      Rows record{{shared, nullptr, 0, REF}};
      wrong += record.region(&host::nothing) != 0;
      wrong += omp_target_is_present(shared, 0) != 1;
      Rows use{{shared, nullptr, 0, REF | RETURN}};
      use.begin();
      there = use.base(0);
      wrong += omp_target_memcpy(copy, there, sizeof copy, 0, 0, 1, 0) != 0;
      wrong += copy[3] != 7;
      Rows{{shared, nullptr, 0, REF}}.end();
      data.end();
    }
  });
  CHECK(wrong == 0);
  CHECK(omp_target_is_present(shared, 0) == 0);
}

TEST_CASE("threads register, launch and unregister") {
  use_main();
  std::atomic<int> wrong{0};
  in_threads(4, [&](int which) {
    for (int round = 0; round < 10; ++round) {
      int number = 0;
      if (which % 2) {
        char own_kernel; // an address of this library's own
        Program program({image_file("other")}, {{&own_kernel, "other_add_hundred"}});
        wrong += Rows({row(number, TOFROM | REF)}).region(&own_kernel) != 0;
        wrong += number != 100;
      } else {
        wrong += Rows({row(number, TOFROM | REF), value(1)}).region(&host::add_one) != 0;
        wrong += number != 1;
      }
    }
  });
  CHECK(wrong == 0);
}

SCENARIO_OF(first_use_by_many) {
  use_main();
  std::atomic<int> wrong{0};
  Rows{value(1)}.region(&host::construct, -2);
  in_threads(6, [&](int) {
    int number = 0;
    wrong += Rows({row(number, TOFROM | REF), value(1)}).region(&host::add_one) != 0;
    wrong += number != 1;
  });
  EXPECT(wrong == 0);
  Rows{row(host::order_length, FROM)}.update();
  EXPECT(host::order_length == 1);
  return 0;
}

TEST_CASE("many threads use a device first") {
  for (int round = 0; round < 3; ++round) {
    const Outcome outcome = run_scenario("first_use_by_many");
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
  }
}

SCENARIO_OF(exit_while_others_launch) {
  static Program* program = new Program({image_file("main")}, main_entries());
  std::atexit([] { delete program; });
  static std::atomic<int> running{0};
  for (int i = 0; i < 3; ++i)
    std::thread([] {
      for (;;) {
        int marks[64] = {}, shape[3];
        Rows rows{row(marks, TOFROM | REF), row(shape, FROM | REF)};
        rows.teams(&host::team_square, 8, 8);
        ++running;
      }
    }).detach();
  while (running < 50)
    ::usleep(1000);
  return 0;
}

TEST_CASE("a program may exit while other threads launch") {
  for (int round = 0; round < 5; ++round) {
    const Outcome outcome = run_scenario("exit_while_others_launch");
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.signal == 0);
  }
}

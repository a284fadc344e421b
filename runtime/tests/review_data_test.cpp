// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Corners of decisions 1 to 3: data that reaches the device or the host by other ways than the rows
// of one call.
#include "support.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr std::int64_t kTooMuch = std::int64_t{1} << 46; // bytes; no machine has them

} // namespace

// ---- what a fallback brings to the host ----

TEST_CASE("a fallback brings what foreign code wrote through a returned address") {
  use_main();
  int values[4] = {1, 1, 1, 1};
  Rows data{row(values, FROM | REF | RETURN)};
  data.begin();
  int* const there = static_cast<int*>(data.base(0));
  REQUIRE(there != values);
  for (int i = 0; i < 4; ++i)
    there[i] = 50; // the host plugin's memory can be written to from here
  CHECK(Rows({row(values, TOFROM | REF), value(4)}).region(&host::absent) != 0);
  CHECK(values[0] == 50);
  CHECK(values[3] == 50);
  ++values[0]; // the host version
  Rows{row(values, FROM | REF)}.end();
  CHECK(values[0] == 51);
}

TEST_CASE("a fallback brings what a pointer's returned cell leads to") {
  use_main();
  int items[2] = {1, 1};
  int* pointer = items;
  Rows data{{&pointer, items, sizeof items, FROM | PTR | REF | RETURN}};
  data.begin();
  int** const cell = static_cast<int**>(data.base(0));
  REQUIRE(cell != &pointer);
  (*cell)[1] = 7;
  CHECK(Rows({row(items, TOFROM | REF), value(2)}).region(&host::absent) != 0);
  CHECK(items[1] == 7);
  CHECK(pointer == items);
  Rows{{&pointer, items, sizeof items, FROM | PTR | REF}}.end();
  CHECK(items[1] == 7);
}

TEST_CASE("a fallback brings what an ALWAYS row has copied into an object that was there") {
  use_main();
  int values[2] = {1, 1};
  Rows data{row(values, FROM | REF)};
  data.begin();
  Rows always{row(values, TO | ALWAYS | REF)};
  always.begin();
  values[0] = values[1] = 2;
  CHECK(Rows({row(values, TOFROM | REF), value(2)}).region(&host::absent) != 0);
  CHECK(values[0] == 1);
  always.end();
  Rows{row(values, REF)}.end();
}

SCENARIO_OF(one_object_too_large) {
  use_main();
  static int values[2] = {1, 1}; // far from the stack
  char much = 0;
  Rows data{{&much, &much, kTooMuch, REF}, row(values, TOFROM | REF | RETURN)};
  data.begin();
  EXPECT(data.base(1) != values);
  EXPECT(Rows({{data.base(1), nullptr, 0, VALUE}, value(2)}).region(&host::add_one) == 0);
  Rows{row(values, TOFROM | REF)}.end();
  EXPECT(values[1] == 2);
  Rows refused{{&much, &much, kTooMuch, REF | RETURN}};
  refused.begin();
  EXPECT(refused.base(0) == &much);
  return 0;
}

TEST_CASE("an object that the device has no memory for does not keep back the address of another") {
  const Outcome outcome = run_scenario("one_object_too_large");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("regions that use it run on the host: the device has no memory for the object at 0x"));
}

// ---- what the device gets after a fallback ----

TEST_CASE("after a fallback a region that has the object's device address sees the host's values") {
  use_main();
  int values[4] = {};
  Rows data{row(values, TOFROM | REF | RETURN)};
  data.begin();
  int* const there = static_cast<int*>(data.base(0));
  CHECK(Rows({row(values, TOFROM | REF), value(4)}).region(&host::absent) != 0);
  for (int& one : values)
    one += 5; // the host version
  CHECK(Rows({{there + 1, nullptr, 0, VALUE}, value(3)}).region(&host::add_one) == 0);
  CHECK(values[1] == 5);
  Rows{row(values, TOFROM | REF)}.end();
  CHECK(values[0] == 5);
  CHECK(values[1] == 6);
  CHECK(values[3] == 6);
}

TEST_CASE("after a fallback a copy by address sees the host's values and is not lost") {
  use_main();
  const int initial = omp_get_initial_device();
  int values[4] = {}, seen[4] = {}, sent[2] = {100, 200};
  Rows data{row(values, TOFROM | REF | RETURN)};
  data.begin();
  int* const there = static_cast<int*>(data.base(0));
  CHECK(Rows({row(values, TOFROM | REF), value(4)}).region(&host::absent) != 0);
  for (int& one : values)
    one += 5; // the host version
  SUBCASE("from the device") {
    CHECK(omp_target_memcpy(seen, there, sizeof seen, 0, 0, initial, 0) == 0);
    CHECK(seen[0] == 5);
    CHECK(seen[3] == 5);
    Rows{row(values, TOFROM | REF)}.end();
  }
  SUBCASE("to a part of it") {
    CHECK(omp_target_memcpy(there, sent, sizeof sent, sizeof sent, 0, 0, initial) == 0);
    CHECK(Rows({row(values, TOFROM | REF), value(4)}).region(&host::add_one) == 0);
    Rows{row(values, TOFROM | REF)}.end();
    CHECK(values[0] == 6);
    CHECK(values[2] == 101);
    CHECK(values[3] == 201);
  }
}

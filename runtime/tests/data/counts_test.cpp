// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what moves when: decision 8.
#include "support.h"

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <doctest/doctest.h>
#include <sys/resource.h>

namespace {

// Runs add_one or add_ten over ints that are present, mapping nothing but a zero-length section.
void on_device(void* kernel, int* values, std::uintptr_t count) {
  Rows rows{{values, nullptr, 0, REF}, value(count)};
  REQUIRE(rows.region(kernel) == 0);
}

} // namespace

TEST_CASE("an inner construct moves nothing of an object that is present") {
  use_main();
  int values[2] = {1, 2};
  Rows rows{row(values, TOFROM | REF)};
  rows.begin();
  values[0] = 100; // the device keeps 1
  rows.begin();
  on_device(&host::add_one, values, 2);
  rows.end();
  CHECK(values[0] == 100);
  CHECK(values[1] == 2);
  rows.end();
  CHECK(values[0] == 2);
  CHECK(values[1] == 3);
  CHECK(omp_target_is_present(values, 0) == 0);
}

TEST_CASE("ALWAYS copies whatever the count") {
  use_main();
  int values[2] = {1, 2};
  Rows outer{row(values, TOFROM | REF)};
  outer.begin();
  values[0] = 100;
  Rows inner{row(values, TOFROM | REF | ALWAYS), value(2)};
  CHECK(inner.region(&host::add_one) == 0);
  CHECK(values[0] == 101);
  CHECK(values[1] == 3);
  values[0] = 7; // outside of the region
  outer.end();
  CHECK(values[0] == 101);
}

TEST_CASE("DELETE releases whatever the count, and copies only with FROM") {
  use_main();
  int values[2] = {1, 2};
  Rows rows{row(values, TO | REF)};
  rows.begin();
  rows.begin();
  on_device(&host::add_one, values, 2);
  SUBCASE("without FROM") {
    Rows{row(values, DELETE | REF)}.end();
    CHECK(values[0] == 1);
  }
  SUBCASE("with FROM") {
    Rows{row(values, FROM | DELETE | REF)}.end();
    CHECK(values[0] == 2);
  }
  SUBCASE("without a reference of its own") {
    Rows{row(values, DELETE)}.end();
    CHECK(values[0] == 1);
  }
  CHECK(omp_target_is_present(values, 0) == 0);
  rows.end(); // of an object that is not there
}

TEST_CASE("releasing without FROM copies nothing") {
  use_main();
  int values[2] = {1, 2};
  Rows{row(values, TO | REF)}.begin();
  on_device(&host::add_one, values, 2);
  Rows{row(values, REF)}.end();
  CHECK(values[0] == 1);
  CHECK(omp_target_is_present(values, 0) == 0);
}

TEST_CASE("part of a present object can be mapped, a zero-length section counts") {
  use_main();
  int values[10] = {};
  Rows whole{row(values, TOFROM | REF)};
  Rows part{{values, &values[3], 2 * sizeof(int), TOFROM | REF}};
  Rows none{{&values[5], nullptr, 0, REF}};
  whole.begin();
  part.begin();
  none.begin();
  on_device(&host::add_one, values, 10);
  whole.end();
  CHECK(omp_target_is_present(values, 0) == 1);
  part.end();
  CHECK(omp_target_is_present(values, 0) == 1);
  CHECK(values[3] == 0);
  none.end();
  CHECK(omp_target_is_present(values, 0) == 0);
  CHECK(values[0] == 0); // the row that took it to 0 had no FROM
}

TEST_CASE("rows without FIRST_REF copy what this call created or released") {
  use_main();
  struct {
    int first, hole, second;
  } object{1, 2, 3};
  const Row enclosing{&object, &object, sizeof object, REF};
  Rows enter{enclosing, row(object.first, TO), row(object.second, TO)};
  Rows leave{enclosing, row(object.first, FROM), row(object.second, FROM)};
  enter.begin();
  on_device(&host::add_one, &object.first, 3);
  object.first = 50;
  enter.begin(); // present: nothing moves
  leave.end();   // still present: nothing moves
  CHECK(object.first == 50);
  leave.end();
  CHECK(object.first == 2);
  CHECK(object.hole == 2);
  CHECK(object.second == 4);
  CHECK(omp_target_is_present(&object, 0) == 0);
}

TEST_CASE("MAP_PTR counts the pointee, and the pointer with FIRST_REF") {
  use_main();
  struct list {
    int before;
    int* items;
    long length;
    int after;
  };
  int items[3] = {1, 2, 3};
  list object{10, items, 3, 20};
  Rows outer{row(object, TOFROM | REF), {&object.items, items, sizeof items, TOFROM | PTR}};
  Rows inner{row(object, TOFROM | REF), {&object.items, items, sizeof items, TOFROM | PTR}};
  outer.begin();
  CHECK(inner.region(&host::list_add_one) == 0);
  CHECK(items[0] == 1);
  CHECK(omp_target_is_present(items, 0) == 1);
  // A pointer's device value survives a copy to the device and does not come back.
  object.before = 11;
  Rows{row(object, TO)}.update();
  Rows{row(object, FROM)}.update();
  CHECK(object.items == items);
  CHECK(inner.region(&host::list_add_one) == 0);
  outer.end();
  CHECK(items[0] == 3);
  CHECK(items[2] == 5);
  CHECK(object.items == items);
  CHECK(object.before == 11);
  CHECK(omp_target_is_present(items, 0) == 0);
  CHECK(omp_target_is_present(&object, 0) == 0);
}

TEST_CASE("a pointer that is mapped by itself comes and goes by its own count") {
  use_main();
  int values[2] = {1, 2};
  int* pointer = values;
  Rows with{{&pointer, values, sizeof values, TOFROM | PTR | REF}};
  Rows without{{&pointer, values, sizeof values, TOFROM | PTR}};
  with.begin();
  without.begin();
  with.end();
  CHECK(omp_target_is_present(&pointer, 0) == 0);
  CHECK(omp_target_is_present(values, 0) == 1);
  without.end();
  CHECK(omp_target_is_present(values, 0) == 0);
}

TEST_CASE("a mapped pointer follows the host's pointer when it is mapped again") {
  use_main();
  int first[2] = {1, 2}, second[2] = {10, 20};
  struct {
    int before;
    int* items;
    long length;
    int after;
  } object{0, first, 2, 0};
  Rows data{row(object, TO | REF), row(first, TOFROM | REF), row(second, TOFROM | REF)};
  data.begin();
  CHECK(Rows{row(object, REF), {&object.items, first, sizeof first, PTR}}.region(&host::list_add_one) == 0);
  object.items = second;
  CHECK(Rows{row(object, REF), {&object.items, second, sizeof second, PTR}}.region(&host::list_add_one) == 0);
  data.end();
  CHECK(first[0] == 2);
  CHECK(second[0] == 11);
}

TEST_CASE("update copies present ranges, and only those") {
  use_main();
  int values[4] = {1, 2, 3, 4};
  Rows{row(values, TO)}.update();
  Rows{row(values, FROM)}.update();
  CHECK(values[0] == 1);
  Rows data{row(values, TO | REF)};
  data.begin();
  values[1] = 20;
  Rows{{values, &values[1], sizeof(int), TO}}.update();
  on_device(&host::add_one, values, 4);
  Rows{{values, &values[1], 2 * sizeof(int), FROM}}.update();
  CHECK(values[0] == 1);
  CHECK(values[1] == 21);
  CHECK(values[2] == 4);
  CHECK(values[3] == 4);
  data.end();
}

TEST_CASE("a global variable is present for good and moves by update and ALWAYS") {
  use_main();
  host::counter = 1;
  int total = 0;
  CHECK(Rows{row(total, TOFROM | REF)}.region(&host::add_counter) == 0);
  CHECK(omp_target_is_present(&host::counter, 0) == 1);
  const int there = total; // other tests count it up
  CHECK(there >= 5);       // the image's own initial value, not the host's
  host::counter = 50;
  Rows{row(host::counter, TO)}.update();
  CHECK(Rows{row(host::counter, TOFROM | REF)}.region(&host::count_up) == 0);
  CHECK(host::counter == 50); // its count is infinite: no last reference
  Rows{row(host::counter, FROM)}.update();
  CHECK(host::counter == 51);
  host::counter = 70;
  CHECK(Rows{row(host::counter, TOFROM | REF | ALWAYS)}.region(&host::count_up) == 0);
  CHECK(host::counter == 71);
  Rows{row(host::counter, DELETE | REF)}.end();
  CHECK(omp_target_is_present(&host::counter, 0) == 1);
  host::counter = 5;
  Rows{row(host::counter, TO)}.update();
}

SCENARIO_OF(extends_present_object) {
  use_main();
  int values[10] = {};
  Rows{{values, values, 5 * sizeof(int), TO | REF}}.begin();
  Rows{{values, &values[3], 5 * sizeof(int), TO | REF}}.begin();
  return 0;
}

TEST_CASE("mapping more than is present ends the program in words that users know") {
  const Outcome outcome = run_scenario("extends_present_object");
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("explicit extension not allowed: host address specified is 0x"));
  CHECK(outcome.has("(20 bytes), but device allocation maps to host at 0x"));
}

#ifndef SANITIZED // which need more addresses than that themselves
// In a process that may have 4 GiB, whatever the machine has.
SCENARIO_OF(too_many_rows) {
  use_main();
  void* base[1] = {};
  std::int64_t size[1] = {};
  std::int32_t type[1] = {};
  const rlimit limit{std::uint64_t{4} << 30, std::uint64_t{4} << 30};
  EXPECT(::setrlimit(RLIMIT_AS, &limit) == 0);
  EXPECT(__tgt_target(-1, &host::nothing, INT32_MAX, base, base, size, type) != 0);
  __tgt_target_data_begin(-1, INT32_MAX, base, base, size, type);
  return 0;
}

TEST_CASE("more rows than there is memory for are counted, and the call is ignored") {
  const Outcome outcome = run_scenario("too_many_rows");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("runs on the host: __tgt_target: the process has no memory for 2147483647 rows"));
  CHECK(outcome.has("__tgt_target_data_begin: the process has no memory for 2147483647 rows; the call is ignored"));
}
#endif

SCENARIO_OF(malformed_rows) {
  use_main();
  int object = 1;
  EXPECT(Rows({{&object, &object, -4, TO | REF}}).region(&host::add_one) != 0);
  EXPECT(Rows({{&object, &object, 4, 0x4000}}).region(&host::add_one) != 0);
  EXPECT(Rows({{&object, nullptr, 4, TO | REF}}).region(&host::add_one) != 0);
  EXPECT(Rows({{&object, &object, INT64_MAX, TO | REF}}).region(&host::nothing) != 0);
  EXPECT(Rows({{nullptr, &object, 4, PTR | REF}}).region(&host::nothing) != 0);
  EXPECT(__tgt_target(-1, &host::nothing, -1, nullptr, nullptr, nullptr, nullptr) != 0);
  EXPECT(__tgt_target(-1, &host::nothing, 3, nullptr, nullptr, nullptr, nullptr) != 0);
  EXPECT(__tgt_target(-1, &host::nothing, 0, nullptr, nullptr, nullptr, nullptr) == 0);
  __tgt_target_data_begin(-1, 1, nullptr, nullptr, nullptr, nullptr);
  return 0;
}

TEST_CASE("malformed rows are named and the call is ignored") {
  const Outcome outcome = run_scenario("malformed_rows");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("__tgt_target: row 0 has a negative size"));
  CHECK(outcome.has("row 0 has an unknown bit in its map type"));
  CHECK(outcome.has("row 0 names memory that cannot exist"));
  CHECK(outcome.has("row 0 has MAP_PTR, but no pointer cell"));
  CHECK(outcome.has("the call has -1 rows, but not all four arrays"));
  CHECK(outcome.has("__tgt_target_data_begin: the call has 1 row"));
}

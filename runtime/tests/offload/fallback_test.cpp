// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions that run on the host after all have the right data: decisions 1 and 3.
#include "fault_sweep.h"
#include "support.h"

#include <csignal>
#include <cstdio>
#include <doctest/doctest.h>

namespace {

// Acts as a compiler's code for a region: the call, and the host version if it says so.
void run_add_one(int* values, long count, void* kernel = &host::add_one) {
  Rows rows{{values, values, static_cast<std::int64_t>(sizeof(int)) * count, TOFROM | REF},
            value(static_cast<std::uintptr_t>(count))};
  if (rows.region(kernel) != 0)
    for (long i = 0; i < count; ++i)
      ++values[i];
}

} // namespace

TEST_CASE("a region that falls back between two that do not, inside one target data") {
  use_main();
  int values[4] = {0, 0, 0, 0};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  run_add_one(values, 4); // device: 1
  CHECK(values[0] == 0);
  run_add_one(values, 4, &host::absent); // host: 2
  CHECK(values[0] == 2);
  SUBCASE("a device region follows") {
    run_add_one(values, 4); // device: 3
    CHECK(values[0] == 2);
    data.end();
    CHECK(values[0] == 3);
  }
  SUBCASE("the data ends") {
    data.end();
    CHECK(values[0] == 2);
  }
  SUBCASE("an update from the device changes nothing") {
    Rows{row(values, FROM)}.update();
    CHECK(values[0] == 2);
    data.end();
    CHECK(values[0] == 2);
  }
  SUBCASE("another one falls back") {
    run_add_one(values, 4, &host::absent);
    run_add_one(values, 4);
    data.end();
    CHECK(values[3] == 4);
  }
  SUBCASE("a region maps it with ALWAYS") {
    Rows always{row(values, TOFROM | ALWAYS | REF), value(4)};
    CHECK(always.region(&host::add_one) == 0);
    CHECK(values[0] == 3);
    data.end();
    CHECK(values[0] == 3);
  }
}

TEST_CASE("a fallback's ALWAYS rows take the host's values") {
  use_main();
  int values[2] = {1, 1};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  run_add_one(values, 2);
  values[0] = 50;
  Rows always{{values, values, sizeof(int), TO | ALWAYS | REF}};
  CHECK(always.region(&host::absent) != 0);
  CHECK(values[0] == 50); // the device would have got it
  CHECK(values[1] == 2);  // the device's
  data.end();
  CHECK(values[0] == 50);
}

TEST_CASE("a fallback does not spoil what the device never had") {
  use_main();
  int values[2] = {3, 4};
  struct {
    int first, hole, second;
  } object{1, 2, 3};
  Rows data{row(values, FROM | REF), row(object, REF), row(object.first, TO), row(object.second, TO)};
  data.begin();
  CHECK(Rows({row(values, TOFROM | REF), row(object, REF), row(object.first, TO)}).region(&host::absent) != 0);
  CHECK(values[0] == 3); // no region has run: the memory there holds nothing
  CHECK(object.hole == 2);
  object.hole = 20; // the host's own
  CHECK(Rows({row(object, REF), row(object.first, TO)}).region(&host::nothing) == 0);
  CHECK(Rows({row(object, REF), row(object.first, TO)}).region(&host::absent) != 0);
  CHECK(object.first == 1);
  CHECK(object.hole == 20);
  Rows{row(values, REF), row(object, REF)}.end();
  CHECK(object.hole == 20);
}

TEST_CASE("a fallback follows mapped pointers and keeps the host's") {
  use_main();
  struct list {
    int before;
    int* items;
    long length;
    int after;
  };
  int items[2] = {1, 2};
  list object{0, items, 2, 0};
  Rows data{row(object, TOFROM | REF), {&object.items, items, sizeof items, TOFROM | PTR}};
  data.begin();
  Rows only_struct{row(object, TOFROM | REF)};
  CHECK(only_struct.region(&host::list_add_one) == 0);
  CHECK(items[0] == 1);
  CHECK(only_struct.region(&host::absent) != 0);
  CHECK(object.items == items);
  CHECK(items[0] == 2);
  ++items[0]; // the host version
  CHECK(only_struct.region(&host::list_add_one) == 0);
  data.end();
  CHECK(items[0] == 4);
  CHECK(object.items == items);
}

TEST_CASE("a fallback follows a pointer to what took the place of its first object") {
  use_main();
  struct list {
    int before;
    int* items;
    long length;
    int after;
  };
  int first[2] = {1, 2}, second[2] = {10, 20};
  list object{0, first, 2, 0};
  Rows whole{row(object, TOFROM | REF)};
  whole.begin();
  Rows{{&object.items, first, sizeof first, TOFROM | PTR}}.begin();
  Rows{{&object.items, first, sizeof first, TOFROM | PTR}}.end();
  object.items = second;
  Rows{{&object.items, second, sizeof second, TOFROM | PTR}}.begin(); // at the address that is free again
  CHECK(whole.region(&host::list_add_one) == 0);
  CHECK(second[0] == 10);
  CHECK(whole.region(&host::absent) != 0);
  CHECK(second[0] == 11);
  ++second[0]; // the host version
  CHECK(whole.region(&host::list_add_one) == 0);
  Rows{{&object.items, second, sizeof second, TOFROM | PTR}}.end();
  whole.end();
  CHECK(second[0] == 13);
  CHECK(first[0] == 1);
}

TEST_CASE("a fallback brings the library's globals, and the next region takes them back") {
  use_main();
  host::counter = 30;
  Rows{row(host::counter, TO)}.update();
  CHECK(Rows{}.region(&host::count_up) == 0);
  CHECK(Rows{}.region(&host::absent) != 0);
  CHECK(host::counter == 31);
  host::counter += 100; // the host version
  int total = 0;
  CHECK(Rows{row(total, TOFROM | REF)}.region(&host::add_counter) == 0);
  CHECK(total == 131);
  host::counter = 5;
  Rows{row(host::counter, TO)}.update();
}

TEST_CASE("DELETE rows of a region that falls back are released") {
  use_main();
  int values[2] = {1, 2};
  Rows{row(values, TOFROM | REF)}.begin();
  run_add_one(values, 2);
  CHECK(Rows({row(values, TOFROM | DELETE | REF)}).region(&host::absent) != 0);
  CHECK(values[0] == 2);
  CHECK(omp_target_is_present(values, 0) == 0);
}

// ---- a device that fails ----

// Data, two regions, a fallback, an ALWAYS copy, a pointer, a private copy, a global: whatever call
// fails, the host ends up with the right numbers or the program says what happened and aborts.
SCENARIO_OF(all_kinds_of_work) {
  use_main();
  struct list {
    int before;
    int* items;
    long length;
    int after;
  };
  int values[3] = {0, 10, 20}, items[2] = {1, 2};
  list object{0, items, 2, 0};
  const auto list_add_one = [&] {
    Rows rows{row(object, TOFROM | REF), {&object.items, items, sizeof items, TOFROM | PTR}};
    if (rows.region(&host::list_add_one) != 0)
      for (long i = 0; i < object.length; ++i)
        ++object.items[i];
  };
  Rows data{row(values, TOFROM | REF), row(object, TOFROM | REF)};
  data.begin();
  run_add_one(values, 3);
  list_add_one();
  run_add_one(values, 3, &host::absent);
  run_add_one(values, 3);
  Rows inside{{values, nullptr, 0, REF}, value(3)};
  if (inside.region(&host::add_one) != 0)
    for (int& one : values)
      ++one;
  list_add_one();
  Rows always{row(values, TOFROM | ALWAYS | REF), value(3)};
  values[0] = 100;
  values[1] = 200;
  values[2] = 300;
  if (always.region(&host::add_one) != 0)
    for (int& one : values)
      ++one;
  int mine[2] = {1, 1};
  Rows own{row(mine, PRIVATE | TO), value(2)};
  own.region(&host::add_one);
  data.end();
  EXPECT(object.items == items);
  EXPECT(values[0] == 101);
  EXPECT(values[1] == 201);
  EXPECT(values[2] == 301);
  EXPECT(items[0] == 3);
  EXPECT(items[1] == 4);
  EXPECT(mine[0] == 1);
  host::counter = 40;
  Rows{row(host::counter, TO)}.update();
  if (Rows({}).region(&host::count_up) != 0)
    ++host::counter;
  Rows{row(host::counter, FROM)}.update();
  EXPECT(host::counter == 41);
  std::puts("done");
  return 0;
}

TEST_CASE("whatever call of the plugin fails, the results are right or the program says why it ends") {
  const FaultSweep sweep = fail_each_call("all_kinds_of_work");
  CHECK(sweep.completed > 10 / kSweepStep);
  CHECK(sweep.aborted > 10 / kSweepStep);
}

TEST_CASE("failures are named") {
  const std::vector<std::string> fake{"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                                      "FAKEFAIL_AT=1", "FAKEFAIL_ON=1"};
  const auto with = [&](const char* function) {
    std::vector<std::string> environment = fake;
    environment.push_back(std::string("FAKEFAIL_IN=") + function);
    return run_scenario("one_region", environment);
  };
  CHECK(with("init_device")
            .has("region add_one runs on the host: device 0 (fakefail) could not be initialised (FAKE "
                 "failure)"));
  CHECK(with("load_binary")
            .has("region add_one runs on the host: its image could not be loaded on device 0 (fakefail) "
                 "(FAKE failure)"));
  CHECK(with("data_alloc").has("region add_one runs on the host: the device has no memory for the object at 0x"));
  CHECK(with("data_submit").has("region add_one runs on the host: the device did not take a copy of the object at 0x"));
  // A kernel that a queue does not take has not begun; one that it has taken may have.
  Outcome outcome = with(over_queues() ? "later_run" : "run");
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("fatal error: region add_one failed on device 0 (fakefail) "));
  CHECK(outcome.has("error 1 (FAKE failure)"));
  outcome = with("data_retrieve");
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("fatal error: region add_one: copying back the object at 0x"));
}

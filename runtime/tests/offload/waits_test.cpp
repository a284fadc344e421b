// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts how often calls wait for a device that has queues, as a GPU has: on the plugin that counts it.
#include "fakes/fakewaits.h"
#include "support.h"

#include <cstdio>
#include <doctest/doctest.h>
#include <functional>

namespace {

FakeWaits counts() {
  return counts_of_fakewaits(TEST_FOLDER);
}

// Returns how many of the constructs waited another number of times than `wanted`, once the device has begun to work.
int others_than(long wanted, const std::vector<std::pair<const char*, std::function<void()>>>& constructs) {
  int wrong = 0;
  for (const auto& [name, construct] : constructs) {
    const long before = counts().waits;
    construct();
    const long waits = counts().waits - before;
    if (waits != wanted)
      std::printf("%s waits %ld times\n", name, waits);
    wrong += waits != wanted;
  }
  return wrong;
}

// All that a region can map: objects that come and go, that stay, and that are moved at any rate; pointers; copies of
// its own.
struct List {
  int before = 1;
  int* items;
  long length = 2;
  int after = 2;
};

} // namespace

SCENARIO_OF(waits_of_synchronous_calls) {
  use_main();
  Rows({}).region(&host::nothing);
  int one[4] = {}, more[4] = {}, items[2] = {}, there[4] = {}, marks[64] = {}, shape[3] = {};
  List list{.items = items};
  const Row four = value(4);
  const auto of_list = [&] {
    Rows({row(list, TOFROM | REF), {&list.items, items, sizeof items, TOFROM | PTR}}).region(&host::list_add_one);
  };
  Rows present({row(there, TOFROM | REF)});
  const int wrong = others_than(
      1, {{"a region without data", [] { Rows({}).region(&host::nothing); }},
          {"a region that maps an object", [&] { Rows({row(one, TOFROM | REF), four}).region(&host::add_one); }},
          {"a region that maps two",
           [&] { Rows({row(one, TOFROM | REF), row(more, TO | REF)}).region(&host::add_second); }},
          {"a region that gets nothing back", [&] { Rows({row(one, TO | REF), four}).region(&host::add_one); }},
          {"a region that gives nothing", [&] { Rows({row(one, FROM | REF), four}).region(&host::add_one); }},
          {"a region with a copy of its own", [&] { Rows({row(one, PRIVATE | TO), four}).region(&host::add_one); }},
          {"a region that attaches a pointer", of_list},
          {"a region of teams",
           [&] { Rows({row(marks, TOFROM | REF), row(shape, TOFROM | REF)}).teams(&host::team_square, 4, 2); }},
          {"data that comes", [&] { present.begin(); }},
          {"a region that finds it", [&] { Rows({row(there, TOFROM | REF), four}).region(&host::add_one); }},
          {"a region that moves it", [&] { Rows({row(there, TOFROM | REF | ALWAYS), four}).region(&host::add_one); }},
          {"an update to the device", [&] { Rows({row(there, TO)}).update(); }},
          {"an update from the device", [&] { Rows({row(there, FROM)}).update(); }},
          {"data that goes", [&] { present.end(); }}});
  EXPECT(wrong == 0);
  EXPECT(items[0] == 1 && list.items == items && there[0] == 1 && marks[0] == 1);
  const FakeWaits all = counts();
  EXPECT(all.made == all.released);
  return 0;
}
TEST_CASE("a synchronous call waits once, whatever it maps") {
  const Outcome outcome =
      run_scenario("waits_of_synchronous_calls", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakewaits",
                                                  "OMPTOOL_PLUGINS=fakewaits", "OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(waits_of_asynchronous_calls) {
  use_main();
  Rows({}).region(&host::nothing);
  static int values[4];
  Rows there({row(values, TOFROM | REF)});
  const long before = counts().waits;
  tgt_event_t last = there.begin_later();
  last = Rows({row(values, TOFROM | REF), value(4)}).region_later(&host::add_one, {last});
  last = Rows({row(values, FROM)}).update_later({last});
  there.end_later({last});
  Rows({row(values, TO | PRIVATE), value(4)}).region_later(&host::add_one, {last});
  while (__tgt_process_dep() != 0)
    ;
  EXPECT(counts().waits == before);
  EXPECT(values[0] == 1 && values[3] == 1);
  return 0;
}
TEST_CASE("an asynchronous call does not wait") {
  const Outcome outcome =
      run_scenario("waits_of_asynchronous_calls", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakewaits",
                                                   "OMPTOOL_PLUGINS=fakewaits", "OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

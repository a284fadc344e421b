// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The document's asynchronous calls, on plugins with and without asynchronous functions.
#include "asynchronous.h"

#include <chrono>
#include <doctest/doctest.h>
#include <thread>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

// ---- the three ways to find out ----

SCENARIO_OF(async_waits) {
  use_main();
  __tgt_init_dep(count_callback);
  static int number = 1;
  Rows data{ones(number)}, region{ones(number), value(1)};
  Events events{data.begin_later({}, -1, param(1))};
  for (std::uintptr_t i = 0; i < 10; ++i)
    events.push_back(region.region_later(&host::add_one, {events.back()}, -1, param(10)));
  events.push_back(Rows{row(number, FROM)}.update_later({events.back()}, -1, param(100)));
  events.push_back(data.end_later({events.back()}, -1, param(1000)));
  EXPECT(soon([] { return called_back == 13; }));
  EXPECT(params == 1201);
  EXPECT(number == 11);
  EXPECT(omp_target_is_present(&number, 0) == 0);
  for (const tgt_event_t event : events) {
    EXPECT(event);
    __tgt_release_dep(event);
  }
  EXPECT(__tgt_process_dep() == 0);
  EXPECT(called_back == 13);
  return 0;
}

TEST_CASE("a program that waits for its callbacks gets each once, in a chain of every kind of call") {
  check_everywhere("async_waits");
}

SCENARIO_OF(async_polls) {
  use_main();
  static int number = 1;
  Gate gate;
  Rows{ones(number), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later);
  EXPECT(__tgt_process_dep() != 0);
  EXPECT(soon([&] { return gate.has_begun(); }));
  EXPECT(unwatched(number) == 1);
  gate.open();
  finish_all();
  EXPECT(number == 11);
  EXPECT(__tgt_process_dep() == 0);
  return 0;
}

TEST_CASE("a program that only polls sees when all is done, without a callback") {
  check_everywhere("async_polls");
}

// ---- order ----

SCENARIO_OF(async_order) {
  use_main();
  static int number = 1, copy = 0;
  Gate gate;
  const tgt_event_t first = Rows{ones(number), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later);
  // No event between them: it maps what is leaving, and comes after its copy back.
  const tgt_event_t second = Rows{ones(number), value(1)}.region_later(&host::add_one);
  // The same on the host's side: what is to be written there is not there yet.
  const tgt_event_t other = Rows{ones(copy, TO | REF), value(1)}.begin_later({first});
  EXPECT(soon([&] { return gate.has_begun(); }));
  set_unwatched(copy, 5); // read when its turn comes
  EXPECT(unwatched(number) == 1);
  gate.open();
  const tgt_event_t updated = Rows{row(copy, FROM)}.update_later({other});
  Rows{ones(copy, DELETE | REF)}.end_later({updated});
  finish_all();
  EXPECT(number == 12);
  EXPECT(copy == 5);
  for (const tgt_event_t event : {first, second, other})
    __tgt_release_dep(event);
  return 0;
}

TEST_CASE("a call that maps what is leaving comes after its copy back; data is read when the events say so") {
  check_everywhere("async_order");
}

SCENARIO_OF(async_then_synchronous) {
  use_main();
  static int number = 1;
  Gate gate;
  Rows{ones(number)}.begin_later();
  const tgt_event_t first = Rows{ones(number), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later);
  std::thread opener([&] {
    soon([&] { return gate.has_begun(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
  });
  Rows{ones(number)}.end(); // releases what the region uses, and waits for it
  EXPECT(number == 11);
  EXPECT(Rows({ones(number), value(1)}).region(&host::add_one) == 0);
  EXPECT(number == 12);
  opener.join();
  __tgt_release_dep(first);
  return 0;
}

TEST_CASE("a synchronous call comes after the asynchronous ones that use its objects") {
  check_everywhere("async_then_synchronous");
}

SCENARIO_OF(async_overlap) {
  use_main();
  static int value_of_all = 0;
  int come = 0;
  constexpr int kKernels = 12;
  Rows data{ones(value_of_all)};
  const tgt_event_t filled = data.begin_later();
  Events ended;
  for (int i = 0; i < kKernels; ++i)
    ended.push_back(
        Rows{ones(value_of_all), value(reinterpret_cast<std::uintptr_t>(&come)), value(kKernels)}.region_later(
            &host::meet, {nullptr, filled})); // each in a stream of its own
  data.end_later(ended);
  finish_all();
  EXPECT(value_of_all == kKernels);
  return 0;
}

TEST_CASE("regions on one object without an event between them overlap") {
  check_everywhere("async_overlap");
}

SCENARIO_OF(async_after_a_fallback) {
  use_main();
  static int number = 1;
  Rows data{ones(number)};
  data.begin();
  EXPECT((Rows{ones(number), value(1)}.region(&host::absent) != 0));
  ++number; // the host version
  const tgt_event_t added = Rows{ones(number), value(1)}.region_later(&host::add_one);
  EXPECT(added != nullptr);
  const tgt_event_t ended = data.end_later({added});
  finish_all();
  EXPECT(number == 3);
  __tgt_release_dep(added);
  __tgt_release_dep(ended);
  return 0;
}

TEST_CASE("an asynchronous region gets what a host version has written") {
  check_everywhere("async_after_a_fallback", {"OMPTOOL_QUIET=1"});
}

// Ends when the gate opens.
static tgt_event_t held_region(int& number, Gate& gate) {
  return Rows{ones(number, TO | REF), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later);
}

SCENARIO_OF(async_ends_after_a_fallback) {
  use_main();
  static int number = 1, other = 1;
  Rows data{ones(number)};
  data.begin();
  EXPECT((Rows{ones(number)}.region(&host::absent) != 0));
  ++number; // the host version
  Gate gate;
  const tgt_event_t held = held_region(number, gate);
  const tgt_event_t ended = data.end_later({held}); // copies back what the region makes, which does not
  Rows{ones(number, TO | REF)}.begin_later({ended});
  // One behind the other on what the first maps.
  EXPECT((Rows{ones(other)}.region(&host::absent) != 0));
  const tgt_event_t first = Rows{ones(other), value(1)}.region_later(&host::add_one, {held});
  const tgt_event_t second = Rows{ones(other), value(1)}.region_later(&host::add_one, {first});
  EXPECT(soon([&] { return gate.has_begun(); }));
  EXPECT(unwatched(number) == 2);
  gate.open();
  finish_all();
  EXPECT(number == 12);
  EXPECT(other == 3);
  Rows{ones(number, DELETE | REF)}.end();
  for (const tgt_event_t event : {held, ended, first, second})
    __tgt_release_dep(event);
  return 0;
}

SCENARIO_OF(async_fallback_between) {
  use_main();
  static int number = 1;
  Rows data{ones(number)};
  data.begin();
  Gate gate;
  const tgt_event_t held = held_region(number, gate);
  EXPECT((Rows{ones(number, TO | REF)}.region(&host::absent) != 0)); // its host version only reads
  const tgt_event_t again = Rows{ones(number, TO | REF), value(1)}.region_later(&host::add_one, {held});
  EXPECT((Rows{ones(number, TO | REF)}.region(&host::absent) != 0));
  const tgt_event_t ended = data.end_later({again});
  gate.open();
  finish_all();
  EXPECT(number == 12);
  for (const tgt_event_t event : {held, again, ended})
    __tgt_release_dep(event);
  return 0;
}

TEST_CASE("asynchronous calls keep their order around regions that fall back") {
  check_everywhere("async_ends_after_a_fallback", {"OMPTOOL_QUIET=1"});
  check_everywhere("async_fallback_between", {"OMPTOOL_QUIET=1"});
}

SCENARIO_OF(async_many) {
  use_main();
  static int numbers[100];
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 5; ++j)
      __tgt_release_dep(Rows{ones(numbers[i]), value(1)}.region_later(&host::add_one));
  finish_all();
  for (const int number : numbers)
    EXPECT(number == 5);
  return 0;
}

TEST_CASE("events may be released before their calls are done, which go on in their order") {
  check_everywhere("async_many");
  check_everywhere("async_many", {"OMPTOOL_HOST_IN_FLIGHT=1"});
}

// ---- what happens at the call ----

SCENARIO_OF(async_at_the_call) {
  use_main();
  static int number = 1, other[2] = {3, 4};
  Gate gate;
  const tgt_event_t first = Rows{ones(number), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later);
  Rows wanted{row(other, TO | REF | RETURN)};
  const tgt_event_t second = wanted.begin_later({first});
  EXPECT(wanted.base(0) != nullptr && wanted.base(0) != other);
  EXPECT(omp_target_is_present(other, 0) == 1);
  void* const there = wanted.base(0);
  gate.open();
  finish_all();
  Rows again{row(other, TO | REF | RETURN)};
  again.begin();
  EXPECT(again.base(0) == there);
  int got[2] = {};
  EXPECT(omp_target_memcpy(got, there, sizeof got, 0, 0, omp_get_initial_device(), 0) == 0);
  EXPECT(got[0] == 3 && got[1] == 4);
  Rows{row(other, DELETE | REF)}.end();
  __tgt_release_dep(first);
  __tgt_release_dep(second);
  return 0;
}

TEST_CASE("memory is there, and addresses are returned, when the call returns") {
  check_everywhere("async_at_the_call", {"OMPTOOL_HOST_MEMORY=separate"});
}

SCENARIO_OF(async_private) {
  use_main();
  static int sum[2] = {100, 200}, own[3] = {-1, 7, 8}, first = 0;
  Gate gate;
  const tgt_event_t held = Rows{ones(first), gate.its_begun(), gate.its_key()}.region_later(&host::add_ten_later);
  {
    Rows gone{row(sum, TOFROM | REF), {own, &own[1], 2 * sizeof(int), PRIVATE | TO}};
    Events events{held};
    gone.region_later(&host::add_second, events);
  } // the arrays are gone when the region runs
  set_unwatched(own[1], 10); // but this is read when its turn comes
  gate.open();
  finish_all();
  EXPECT(sum[0] == 110 && sum[1] == 208);
  return 0;
}

TEST_CASE("arrays are read at the call, private data when the region's turn comes") {
  check_everywhere("async_private");
  check_everywhere("async_private", {"OMPTOOL_HOST_MEMORY=shared"});
}

// ---- devices ----

SCENARIO_OF(async_two_devices) {
  use_main();
  EXPECT(omp_get_num_devices() == 2);
  static int number = 1;
  Rows region{ones(number), value(1)};
  tgt_event_t last = nullptr;
  Events all;
  for (int i = 0; i < 20; ++i) {
    if (last)
      EXPECT(__tgt_enforce_dep((i + 1) % 2, i % 2, last) != 0);
    last = region.region_later(&host::add_one, {last}, i % 2);
    all.push_back(last);
  }
  finish_all();
  EXPECT(number == 21);
  EXPECT(__tgt_enforce_dep(0, 1, last) != 0);
  EXPECT(__tgt_enforce_dep(-1, 1, last) != 0);
  EXPECT(__tgt_enforce_dep(0, 2, last) == 0);
  for (const tgt_event_t event : all)
    __tgt_release_dep(event);
  return 0;
}

TEST_CASE("events order calls on two devices of one plugin") {
  for (const Environment& plugin : {kPlugins[0], kPlugins[1]}) {
    const Outcome outcome = run_scenario("async_two_devices", with(plugin, {"OMPTOOL_HOST_DEVICES=2"}));
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "");
  }
}

SCENARIO_OF(async_every_device) {
  use_main();
  __tgt_init_dep(count_callback);
  static int values[2] = {1, 2};
  tgt_event_t event = Rows{value(1)}.region_later(&host::construct, {}, -2, param(1));
  EXPECT(event);
  event = Rows{row(values, TO | REF)}.begin_later({event}, -2, param(1));
  EXPECT(event);
  EXPECT(omp_target_is_present(values, 1) == 1);
  event = Rows{value(10)}.region_later(&host::construct, {event}, 1, param(1));
  event = Rows{value(90)}.region_later(&host::construct, {event}, -3, param(1));
  Rows{row(host::order, FROM), row(host::order_length, FROM)}.update(1);
  EXPECT(host::order_length == 3 && host::order[0] == 1 && host::order[1] == 10 && host::order[2] == 90);
  event = Rows{row(values, DELETE | REF)}.end_later({event}, -3, param(1));
  EXPECT(omp_target_is_present(values, 1) == 0);
  finish_all();
  EXPECT(called_back == 5);
  return 0;
}

TEST_CASE("calls for every device, or every used one, have completed when they return") {
  const Outcome outcome = run_scenario("async_every_device", {"OMPTOOL_HOST_DEVICES=2"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

TEST_SUITE_END();

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what an asynchronous call reads, allocates and settles when it is made, and what when its turn comes
// (decisions 24 and 25), on plugins with and without asynchronous functions.
#include "asynchronous.h"

#include <array>
#include <cstdio>
#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

namespace {

// Of the image's list_add_one.
struct List {
  int before = 1;
  int* items = nullptr;
  long length = 2;
  int after = 2;
};

// Nobody may wait for what the same thread has yet to do.
void end_if_it_hangs() {
  constexpr unsigned kSeconds = 60;
  end_after(kSeconds);
}

} // namespace

// ---- pointers ----

SCENARIO_OF(async_pointer_cell) {
  use_main();
  static int items[2] = {5, 6};
  static List list{.items = items};
  HeldRegion held;
  Rows{row(list, TOFROM | REF), {&list.items, items, sizeof items, TOFROM | PTR}}.region_later(&host::list_add_one,
                                                                                               {held.event});
  set_unwatched(list.items, nullptr);
  held.open();
  finish_all();
  EXPECT(items[0] == 6 && items[1] == 7);
  EXPECT(list.items == nullptr);
  return 0;
}

SCENARIO_OF(async_pointer_to_no_bytes) {
  use_main();
  static int items[2] = {5, 6};
  static List list{.items = items};
  Rows data{row(items, TOFROM | REF)};
  data.begin();
  HeldRegion held;
  Rows{row(list, TO | REF), {&list.items, nullptr, 0, TO | PTR}}.region_later(&host::list_add_one, {held.event});
  set_unwatched(list.items, nullptr);
  held.open();
  finish_all();
  data.end();
  EXPECT(items[0] == 6 && items[1] == 7);
  return 0;
}

SCENARIO_OF(async_pointer_of_data) {
  use_main();
  static int items[2] = {5, 6};
  static List list{.items = items};
  const auto pointer = std::make_unique<int*>(items);
  Rows data{row(list, TO | REF),
            {&list.items, items, sizeof items, TOFROM | PTR},
            {pointer.get(), items, sizeof items, TOFROM | PTR | REF}};
  HeldRegion held;
  tgt_event_t last = data.begin_later({held.event});
  set_unwatched(list.items, nullptr);
  set_unwatched(*pointer, nullptr);
  last = Rows{row(list, REF)}.region_later(&host::list_add_one, {last});
  set_unwatched(*pointer, items);
  last = Rows{{pointer.get(), items, sizeof items, PTR | REF}, value(2)}.region_later(&host::add_one_by, {last});
  set_unwatched(*pointer, nullptr);
  data.end_later({last});
  held.open();
  finish_all();
  EXPECT(items[0] == 7 && items[1] == 8);
  EXPECT(omp_target_is_present(items, 0) == 0);
  EXPECT(omp_target_is_present(pointer.get(), 0) == 0);
  return 0;
}

TEST_CASE("pointers are read at the call") {
  for (const std::string name : {"async_pointer_cell", "async_pointer_to_no_bytes", "async_pointer_of_data"}) {
    CAPTURE(name);
    check_everywhere(name);
    check_everywhere(name, {"OMPTOOL_HOST_IN_FLIGHT=2"});
  }
}

// ---- memory ----

// One of the allocations fails: 1 is the core's probe, 2 that of `held`.
static int lacks_memory() {
  use_main();
  end_if_it_hangs();
  static int sum[2] = {100, 200}, own[3] = {-1, 7, 8};
  HeldRegion held;
  const std::jthread opener = held.open_soon();
  std::int32_t result = 0;
  const tgt_event_t event = Rows{row(sum, TOFROM | REF), row(own, PRIVATE | TO)}.region_later(
      &host::add_second, {held.event}, -1, nullptr, &result);
  EXPECT(result != 0 && event == nullptr);
  EXPECT(omp_target_is_present(sum, 0) == 0);
  finish_all();
  EXPECT(sum[0] == 100 && sum[1] == 200);
  // Nothing is left of it.
  EXPECT((Rows{row(sum, TOFROM | REF), row(own, PRIVATE | TO)}.region_later(&host::add_second) != nullptr));
  finish_all();
  EXPECT(sum[0] == 107 && sum[1] == 208);
  return 0;
}

SCENARIO_OF(async_without_memory) {
  return lacks_memory();
}
SCENARIO_OF(async_without_private_memory) {
  return lacks_memory();
}

TEST_CASE("memory is allocated at the call, and a region without it is the host's") {
  for (const char* queues : {"OMPTOOL_HOST_QUEUES=0", "OMPTOOL_HOST_QUEUES=1"})
    for (const auto& [name, at, why] :
         {std::array{"async_without_memory", "FAKEFAIL_AT=3", "runs on the host: the device has no memory for"},
          std::array{"async_without_private_memory", "FAKEFAIL_AT=4",
                     "runs on the host: the device has no private copy of"}}) {
      const Outcome outcome = run_scenario(name, {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail",
                                                  "OMPTOOL_PLUGINS=fakefail", "FAKEFAIL_IN=data_alloc", at, queues});
      INFO(queues << ", " << outcome.output);
      CHECK(outcome.code == 0);
      CHECK(outcome.has(why));
      CHECK(outcome.has(", data_alloc, fails"));
      CHECK_FALSE(outcome.has("allocated"));
    }
}

SCENARIO_OF(async_data_without_memory) {
  use_main();
  static int items[2] = {5, 6};
  HeldRegion held;
  Rows data{row(items, TOFROM | REF | RETURN)};
  const tgt_event_t begun = data.begin_later({held.event});
  EXPECT(begun && data.base(0) == items);
  const std::jthread opener = held.open_soon();
  std::int32_t result = 0;
  Rows{row(items, TOFROM | REF), value(2)}.region_later(&host::add_one, {begun}, -1, nullptr, &result);
  EXPECT(result != 0);
  data.end_later();
  finish_all();
  EXPECT(items[0] == 5);
  return 0;
}

TEST_CASE("data that the device has no memory for leaves its address as it is, and its regions to the host") {
  for (const char* queues : {"OMPTOOL_HOST_QUEUES=0", "OMPTOOL_HOST_QUEUES=1"}) {
    const Outcome outcome = run_scenario("async_data_without_memory",
                                         {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                                          "FAKEFAIL_IN=data_alloc", "FAKEFAIL_AT=3", queues});
    INFO(queues << ", " << outcome.output);
    CHECK(outcome.code == 0);
    CHECK(outcome.has("regions that use it run on the host: the device has no memory for"));
    CHECK_FALSE(outcome.has("allocated"));
  }
}

// The call's own array, which the program uses for something else once the call has returned.
static int returned_once() {
  static int sum[2] = {100, 200};
  HeldRegion held;
  std::array<void*, 2> bases{sum, reinterpret_cast<void*>(2)}, begins{sum, nullptr};
  std::array<std::int64_t, 2> sizes{sizeof sum, 0};
  std::array<std::int32_t, 2> types{TOFROM | REF | RETURN, VALUE};
  tgt_event_t event = held.event;
  EXPECT(__tgt_target_async(-1, &host::add_one, 2, bases.data(), begins.data(), sizes.data(), types.data(), 1, &event,
                            nullptr, nullptr) == 0);
  EXPECT(bases[0] != sum);
  set_unwatched(bases[0], &held);
  held.open();
  finish_all();
  EXPECT(bases[0] == &held);
  EXPECT(sum[0] == 101 && sum[1] == 201);
  return 0;
}

SCENARIO_OF(async_returns_once) {
  use_main();
  end_if_it_hangs();
  return returned_once();
}

SCENARIO_OF(async_returns_once_after_a_fallback) {
  use_main();
  end_if_it_hangs();
  static int number = 1;
  Rows data{ones(number)};
  data.begin();
  EXPECT((Rows{ones(number), value(1)}.region(&host::absent) != 0));
  EXPECT(returned_once() == 0);
  data.end();
  return 0;
}

TEST_CASE("a region returns addresses at its call, and then no more") {
  check_everywhere("async_returns_once", {"OMPTOOL_QUIET=1"});
  check_everywhere("async_returns_once_after_a_fallback", {"OMPTOOL_QUIET=1"});
}

// ---- what is newer on the host ----

SCENARIO_OF(async_held_after_a_fallback) {
  use_main();
  end_if_it_hangs();
  static int number = 1, fresh = 5;
  Rows data{ones(number)};
  data.begin();
  EXPECT((Rows{ones(number), value(1)}.region(&host::absent) != 0));
  ++number; // the host version
  HeldRegion held;
  const tgt_event_t added = Rows{ones(number), value(1)}.region_later(&host::add_one, {held.event});
  Rows{ones(fresh), value(1)}.region_later(&host::add_one, {held.event});
  EXPECT(omp_target_is_present(&fresh, 0) == 0); // it is settled that it goes
  const tgt_event_t updated = Rows{row(number, FROM)}.update_later({added});
  const tgt_event_t sent = Rows{row(number, TOFROM | REF | ALWAYS), value(1)}.region_later(&host::add_one, {updated});
  const tgt_event_t ended = data.end_later({sent});
  EXPECT(omp_target_is_present(&number, 0) == 0);
  Rows{ones(number), value(1)}.region_later(&host::add_one); // what leaves is not waited for
  held.open();
  finish_all();
  EXPECT(number == 5 && fresh == 6);
  for (const tgt_event_t event : {added, updated, sent, ended})
    __tgt_release_dep(event);
  return 0;
}

SCENARIO_OF(async_data_held_after_a_fallback) {
  use_main();
  end_if_it_hangs();
  static int number = 1;
  Rows data{ones(number)};
  data.begin();
  EXPECT((Rows{ones(number), value(1)}.region(&host::absent) != 0));
  number = 2; // the host version
  HeldRegion held;
  const tgt_event_t ended = data.end_later({held.event});
  EXPECT(omp_target_is_present(&number, 0) == 0);
  const tgt_event_t begun = Rows{ones(number)}.begin_later();
  const tgt_event_t sent = Rows{row(number, TO)}.update_later({begun});
  const tgt_event_t added = Rows{ones(number), value(1)}.region_later(&host::add_one, {sent});
  Rows{row(number, TOFROM | REF | DELETE)}.end_later({added});
  held.open();
  finish_all();
  EXPECT(number == 3);
  for (const tgt_event_t event : {ended, begun, sent, added})
    __tgt_release_dep(event);
  return 0;
}

SCENARIO_OF(async_deletes_after_a_fallback) {
  use_main();
  end_if_it_hangs();
  static int number = 1;
  Rows{ones(number)}.begin();
  EXPECT((Rows{ones(number), value(1)}.region(&host::absent) != 0));
  number = 2; // the host version
  HeldRegion held;
  Rows{row(number, TOFROM | REF | DELETE), value(1)}.region_later(&host::add_one, {held.event});
  EXPECT(omp_target_is_present(&number, 0) == 0);
  held.open();
  finish_all();
  EXPECT(number == 3);
  return 0;
}

TEST_CASE("calls neither wait nor are counted later where the host has the newer data") {
  for (const std::string name :
       {"async_held_after_a_fallback", "async_data_held_after_a_fallback", "async_deletes_after_a_fallback"}) {
    CAPTURE(name);
    check_everywhere(name, {"OMPTOOL_QUIET=1"});
  }
}

TEST_SUITE_END();

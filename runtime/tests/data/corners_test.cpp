// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Corners of decisions 1 to 3: data that reaches the device or the host by other ways than the rows
// of one call.
#include "support.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
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

// ---- regions that fail before they start ----

SCENARIO_OF(one_device_of_two_refuses) {
  use_main();
  EXPECT(Rows{}.region(&host::nothing, 0) == 0);
  EXPECT(Rows{}.region(&host::nothing, 1) == 0);
  static int values[1] = {1}; // far from the stack
  char much = 0;
  void* const there = omp_target_alloc(8, 0);
  EXPECT(omp_target_associate_ptr(&much, there, kTooMuch, 0, 0) == 0); // device 0 has it, device 1 has no room
  EXPECT(Rows({row(values, TOFROM | REF), value(1), {&much, &much, kTooMuch, REF}}).region(&host::add_one, -3) == 0);
  EXPECT(values[0] == 2);                                                   // once
  EXPECT(Rows({row(values, TOFROM | REF)}).region(&host::absent, -3) != 0); // on none of them
  return 0;
}

TEST_CASE("a region for all used devices that has run on one is not run by its caller, too") {
  const Outcome outcome = run_scenario("one_device_of_two_refuses", {"OMPTOOL_HOST_DEVICES=2"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region add_one ran on other devices but not on device 1 (host): the device has no memory for"));
  const Outcome mandatory =
      run_scenario("one_device_of_two_refuses", {"OMPTOOL_HOST_DEVICES=2", "OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK(mandatory.signal == SIGABRT);
  CHECK(mandatory.has("fatal error: region add_one ran on other devices but not on device 1 (host)"));
}

SCENARIO_OF(malformed_region_row) {
  use_main();
  int values[2] = {}, other[2] = {};
  Rows data{row(values, TOFROM | REF), row(other, TOFROM | REF)};
  data.begin();
  host::counter = 0;
  Rows{row(host::counter, TO)}.update();
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) == 0);
  EXPECT(Rows({row(other, TOFROM | REF), value(2)}).region(&host::add_one) == 0);
  EXPECT(Rows({}).region(&host::count_up) == 0);
  EXPECT(Rows({row(values, TOFROM | REF), {other, other, -4, TOFROM | REF}}).region(&host::add_one) != 0);
  EXPECT(values[1] == 1);
  EXPECT(other[1] == 1);
  EXPECT(host::counter == 1);
  ++values[1]; // the host version
  EXPECT(Rows({row(values, TOFROM | REF), value(2), {values, values, 4, 0x8000}}).region(&host::add_one) != 0);
  ++values[1];
  data.end();
  EXPECT(values[1] == 3);
  return 0;
}

TEST_CASE("a region with a malformed row falls back with its data") {
  const Outcome outcome = run_scenario("malformed_region_row");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region add_one runs on the host: __tgt_target: row 1 has a negative size (address 0x"));
  CHECK(outcome.has("region add_one runs on the host: __tgt_target: row 2 has an unknown bit in its map type"));
  const Outcome mandatory = run_scenario("malformed_region_row", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK(mandatory.signal == SIGABRT);
  CHECK(mandatory.has("fatal error: region add_one cannot run on a device, and OMP_TARGET_OFFLOAD is MANDATORY: "
                      "__tgt_target: row 1 has a negative size"));
}

SCENARIO_OF(malformed_constructor) {
  use_main();
  int object = 1;
  EXPECT(Rows({{&object, &object, -4, TO | REF}}).region(&host::construct, -2) == 0);
  EXPECT(Rows({row(object, TOFROM | REF), value(1)}).region(&host::add_one) != 0);
  return 0;
}

TEST_CASE("a constructor with a malformed row is one that could not run") {
  const Outcome outcome = run_scenario("malformed_constructor");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region add_one runs on the host: the constructor construct could not run there: __tgt_target: "
                    "row 0 has a negative size"));
}

// Children of a process whose other threads are about to say that a region falls back.
SCENARIO_OF(fork_while_falling_back) {
  use_main();
  static char addresses[1 << 16], own[60];
  EXPECT(Rows{}.region(&addresses[0], 0) != 0); // opens libraries: ThreadSanitizer cannot fork meanwhile
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    for (std::size_t i = 0; !stop; ++i)
      Rows{}.region(&addresses[i % sizeof addresses], 0);
  });
  int failed = 0;
  for (int i = 0; i < 60 && failed == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      end_after(5);
      ::_exit(Rows{}.region(&own[i], 0) != 0 ? 0 : 1);
    }
    int status = 0;
    EXPECT(::waitpid(child, &status, 0) == child);
    failed += status != 0;
  }
  stop = true;
  busy.join();
  EXPECT(failed == 0);
  return 0;
}

TEST_CASE("a child of fork falls back although a thread of its parent was doing so") {
  const Outcome outcome = run_scenario("fork_while_falling_back");
  CHECK_MESSAGE(outcome.code == 0,
                outcome.output.substr(outcome.output.size() - std::min<std::size_t>(outcome.output.size(), 400)));
  CHECK(outcome.has("runs on the host: the process has forked since it registered its images"));
}

// ---- memory that is shared ----

SCENARIO_OF(variables_of_a_shared_device) {
  use_main();
  host::counter = 100;
  Rows{row(host::counter, TO)}.update();
  int value = 0;
  EXPECT(Rows({row(value, TOFROM | REF)}).region(&host::add_counter) == 0);
  EXPECT(value == 100);
  EXPECT(Rows({}).region(&host::count_up) == 0);
  EXPECT(host::counter == 100);
  EXPECT(Rows({}).region(&host::absent) != 0); // brings the variable
  EXPECT(host::counter == 101);
  ++host::counter; // the host version
  EXPECT(Rows({row(value, TOFROM | REF)}).region(&host::add_counter) == 0);
  EXPECT(value == 202);
  char text[256] = "some text";
  char* const there = static_cast<char*>(omp_target_alloc(sizeof text, 0));
  const int initial = omp_get_initial_device();
  EXPECT(omp_target_memcpy(there, text, sizeof text, 0, 0, 0, initial) == 0);
  text[0] = 'x';
  EXPECT(omp_target_memcpy(text, there, sizeof text, 0, 0, initial, 0) == 0);
  EXPECT(text[0] == 's');
  omp_target_free(there, 0);
  return 0;
}

TEST_CASE("variables of an image move although the data functions of its plugin do nothing") {
  const Outcome nothing =
      run_scenario("variables_of_a_shared_device",
                   {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakenothing", "OMPTOOL_PLUGINS=fakenothing"});
  CHECK_MESSAGE(nothing.code == 0, nothing.output);
  const Outcome shared = run_scenario("variables_of_a_shared_device", {"OMPTOOL_HOST_MEMORY=shared"});
  CHECK_MESSAGE(shared.code == 0, shared.output);
}

SCENARIO_OF(private_copy_too_large) {
  use_main();
  int value = 0;
  EXPECT(Rows({{&value, &value, 2 * kTooMuch, PRIVATE}}).region(&host::record1) != 0);
  EXPECT(Rows({row(value, PRIVATE)}).region(&host::record1) == 0);
  return 0;
}

TEST_CASE("a private copy that is too large makes its region fall back, shared memory or not") {
  for (const char* memory : {"OMPTOOL_HOST_MEMORY=shared", "OMPTOOL_HOST_MEMORY=separate"}) {
    const Outcome outcome = run_scenario("private_copy_too_large", {memory});
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.has("region record1 runs on the host: the device has no private copy of the object at 0x"));
  }
}

// ---- rows of no bytes, and parts ----

TEST_CASE("a DELETE row of no bytes releases, whether its region falls back or not") {
  use_main();
  int values[2] = {};
  for (void* region : {static_cast<void*>(&host::absent), static_cast<void*>(&host::add_one)}) {
    Rows{row(values, TOFROM | REF)}.begin();
    CHECK(omp_target_is_present(values, 0) == 1);
    Rows({{values, nullptr, 0, DELETE | REF}, value(2)}).region(region);
    CHECK(omp_target_is_present(values, 0) == 0);
  }
}

TEST_CASE("a private row of no bytes goes by its base") {
  use_main();
  char object[8] = {};
  CHECK(Rows({{object, object + 1, 0, PRIVATE | TO}}).region(&host::record1) == 0);
  Rows{row(host::seen, FROM)}.update();
  CHECK(reinterpret_cast<std::uintptr_t>(host::seen[0]) % alignof(std::max_align_t) == 0); // not one before it
}

TEST_CASE("an allocation larger than the parts that are copied to it is the device's as a whole") {
  use_main();
  int values[8] = {};
  Rows data{{values, values, sizeof values, REF}, {values, values, 2 * sizeof(int), TO}};
  data.begin();
  Rows section{{values, nullptr, 0, REF}, value(8)};
  CHECK(section.region(&host::add_one) == 0);
  Rows{{values, values + 5, sizeof(int), FROM}}.update();
  const int there = values[5];
  values[5] = ~there;
  CHECK(section.region(&host::absent) != 0);
  CHECK(values[0] == 1);
  CHECK(values[5] == there);
  Rows{row(values, REF)}.end();
}

// ---- who is to blame ----

SCENARIO_OF(cell_refused) {
  use_main();
  struct list {
    int before;
    int* items;
    long length;
    int after;
  };
  int items[2] = {1, 2};
  list object{0, items, 2, 0};
  Rows{row(object, TOFROM | REF)}.begin();
  Rows{row(items, REF)}.begin();
  EXPECT(Rows({row(object, TOFROM | REF), {&object.items, items, sizeof items, TOFROM | PTR}})
             .region(&host::list_add_one) != 0);
  return 0;
}

// The first call of each kind is the runtime's own: it asks whether the device shares memory.
TEST_CASE("a pointer that the device does not take is not its pointee") {
  const Outcome outcome =
      run_scenario("cell_refused", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                                    "FAKEFAIL_IN=data_submit", "FAKEFAIL_AT=3"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK_MESSAGE(outcome.has("(32 bytes) (FAKE failure)"), outcome.output);
}

SCENARIO_OF(freed_after_the_kernel) {
  use_main();
  int mapped = 1;
  EXPECT(Rows({row(mapped, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
  EXPECT(mapped == 2);
  return 0;
}

// Every way out of the device's memory.
SCENARIO_OF(never_freed) {
  use_main();
  int items[2] = {1, 2}, own = 1;
  Rows data{row(items, TOFROM | REF)};
  Rows parts{{items, nullptr, 0, REF}, row(items, TO | ALWAYS), value(2)}; // not the short way
  data.begin();
  EXPECT(parts.region(&host::add_one) == 0);
  data.end();
  EXPECT(items[0] == 2 && items[1] == 3);
  EXPECT(Rows({row(items, TOFROM | REF), row(own, PRIVATE | TO)}).region(&host::absent) != 0);
  omp_target_free(omp_target_alloc(8, 0), 0);
  std::puts("done");
  return 0;
}

TEST_CASE("a device that frees nothing does not end the program") {
  const Outcome outcome =
      run_scenario("never_freed", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                                   "FAKEFAIL_IN=data_delete", "FAKEFAIL_AT=1", "FAKEFAIL_ON=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("done\n"));
  CHECK(outcome.has(
      "omptarget: plugin fakefail could not free the 16 bytes by which the runtime probed device 0 (FAKE failure)\n"));
  CHECK(outcome.has("omptarget: plugin fakefail could not free device memory of the object at 0x"));
  CHECK(outcome.has("omptarget: omp_target_free: device 0 (fakefail) did not free 0x"));
}

SCENARIO_OF(private_freed_after_the_kernel) {
  use_main();
  int own = 1;
  return Rows({row(own, PRIVATE | TO), value(1)}).region(&host::add_one);
}

TEST_CASE("memory that cannot be freed after a region is the region's, and the object's") {
  for (const char* scenario : {"freed_after_the_kernel", "private_freed_after_the_kernel"}) {
    const Outcome outcome =
        run_scenario(scenario, {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                                "FAKEFAIL_IN=data_delete", "FAKEFAIL_AT=2"});
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK_MESSAGE(outcome.has("omptarget: region add_one: plugin fakefail could not free device memory of the object "
                              "at 0x"),
                  outcome.output);
  }
}

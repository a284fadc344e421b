// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device numbers -2 and -3: constructors and destructors of device variables.
#include "support.h"

#include <atomic>
#include <cstdio>
#include <doctest/doctest.h>

namespace {

void construct(std::uintptr_t which, std::int32_t device) {
  Rows{value(which)}.region(&host::construct, device);
}

std::vector<int> order_on(std::int32_t device) {
  Rows{row(host::order, FROM), row(host::order_length, FROM)}.update(device);
  return {host::order, host::order + host::order_length};
}

} // namespace

// The interface document's example: C a; region 1; C b; region 2.
SCENARIO_OF(constructors_and_destructors) {
  use_main();
  construct(1, -2);
  {
    Rows gone{value(2)}; // the arrays are gone when the work is done
    gone.region(&host::construct, -2);
  }
  EXPECT(omp_get_num_devices() == 2);
  construct(10, 1); // region 1, on the second device
  EXPECT((order_on(1) == std::vector<int>{1, 2, 10}));
  construct(3, -2);
  construct(11, 1);
  EXPECT((order_on(1) == std::vector<int>{1, 2, 10, 3, 11}));
  construct(90, -3); // only where this library has been
  EXPECT((order_on(1) == std::vector<int>{1, 2, 10, 3, 11, 90}));
  EXPECT((order_on(0) == std::vector<int>{1, 2, 3})); // the update itself was the first use
  construct(91, -3);
  EXPECT((order_on(0) == std::vector<int>{1, 2, 3, 91}));
  EXPECT((order_on(1) == std::vector<int>{1, 2, 10, 3, 11, 90, 91}));
  return 0;
}

TEST_CASE("deferred regions run in order before a device's first region, destructors where they ran") {
  const Outcome outcome = run_scenario("constructors_and_destructors", {"OMPTOOL_HOST_DEVICES=2"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "");
}

SCENARIO_OF(deferred_data) {
  use_main();
  int values[2] = {1, 2};
  Rows{row(values, TO | REF)}.begin(-2);
  EXPECT(omp_target_is_present(values, 0) == 1);
  EXPECT(omp_target_is_present(values, 1) == 1);
  Rows{row(values, DELETE | REF)}.end(-3);
  // No region has run: no device is used.
  EXPECT(omp_target_is_present(values, 0) == 1);
  EXPECT(Rows{}.region(&host::nothing, 0) == 0);
  Rows{row(values, DELETE | REF)}.end(-3);
  EXPECT(omp_target_is_present(values, 0) == 0);
  EXPECT(omp_target_is_present(values, 1) == 1);
  return 0;
}

SCENARIO_OF(deferred_with_a_faulty_event) {
  use_main();
  const tgt_event_t released = Rows{}.region_later(&host::nothing);
  __tgt_release_dep(released);
  static std::atomic<int> called_back{0};
  __tgt_init_dep([](tgt_callback_param_t) { ++called_back; });
  std::int32_t result = 1;
  __tgt_release_dep(Rows{}.region_later(&host::nothing, {released}, -2, &called_back, &result));
  EXPECT(result == 0);
  while (__tgt_process_dep() != 0)
    ;
  EXPECT(called_back == 1);
  return 0;
}

TEST_CASE("an asynchronous region of every device completes, though its events are at fault") {
  const Outcome outcome = run_scenario("deferred_with_a_faulty_event");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

TEST_CASE("data calls can be deferred, too") {
  const Outcome outcome = run_scenario("deferred_data", {"OMPTOOL_HOST_DEVICES=2"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(missing_constructor) {
  use_main();
  Rows{}.region(&host::absent, -2);
  int number = 1;
  EXPECT(Rows({row(number, TOFROM | REF), value(1)}).region(&host::add_one) != 0);
  EXPECT(number == 1);
  return 0;
}

TEST_CASE("without its constructor a library's regions run on the host") {
  const Outcome outcome = run_scenario("missing_constructor");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region add_one runs on the host: the constructor absent could not run there"));
}

SCENARIO_OF(deferred_of_unloaded) {
  {
    Program program({image_file("main")}, main_entries());
    construct(1, -2);
  }
  use_main();
  construct(7, -1);
  EXPECT((order_on(0) == std::vector<int>{7}));
  return 0;
}

TEST_CASE("deferred work goes with its library") {
  const Outcome outcome = run_scenario("deferred_of_unloaded");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(deferred_shapes) {
  use_main();
  static int marks[12] = {}, shape[3] = {};
  Rows{row(marks, TOFROM | REF), row(shape, FROM | REF)}.begin();
  const auto teams = [&](std::int32_t device) {
    Rows{row(marks, REF), row(shape, REF)}.teams(&host::team_square, 4, 3, device);
  };
  teams(-2);
  construct(1, -2);
  EXPECT(Rows{}.region(&host::nothing) == 0);
  construct(2, -3);
  teams(-3);
  Rows{row(marks, FROM), row(shape, FROM)}.update();
  for (const int mark : marks)
    EXPECT(mark == 2);
  EXPECT(shape[0] == 4 && shape[1] == 3);
  return 0;
}

TEST_CASE("deferred regions keep their teams and threads; constructors and destructors say that they have one") {
  const Outcome outcome = run_scenario("deferred_shapes", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail",
                                                           "OMPTOOL_PLUGINS=fakefail", "FAKEFAIL_TELL=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output.find("FAKE: run teams 4 threads 3\nFAKE: run teams 1 threads 1\nFAKE: run alone\n"
                            "FAKE: run teams 1 threads 1\nFAKE: run teams 4 threads 3\n") == 0);
}

SCENARIO_OF(deferred_private) {
  use_main();
  static int sum[2] = {100, 200};
  {
    int own[3] = {-1, 7, 8};
    Rows rows{row(sum, TOFROM | REF), {own, &own[1], 2 * sizeof(int), PRIVATE | TO}};
    rows.region(&host::add_second, -2);
    own[1] = own[2] = -9; // the caller has returned, and its stack is another's
  }
  EXPECT(Rows{}.region(&host::nothing, 0) == 0);
  EXPECT(sum[0] == 107 && sum[1] == 208);
  EXPECT(Rows{}.region(&host::nothing, 1) == 0);
  EXPECT(sum[0] == 114 && sum[1] == 216);
  return 0;
}

TEST_CASE("a deferred region's private data is what it was when it was called") {
  for (const char* memory : {"OMPTOOL_HOST_MEMORY=separate", "OMPTOOL_HOST_MEMORY=shared"}) {
    const Outcome outcome = run_scenario("deferred_private", {"OMPTOOL_HOST_DEVICES=2", memory});
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
  }
}

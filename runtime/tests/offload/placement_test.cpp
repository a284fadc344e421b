// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTOOL_DEVICE_POLICY: which device a region gets that names none.
#include "later.h"

#include <cstdio>
#include <doctest/doctest.h>
#include <string>
#include <thread>
#include <vector>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

namespace {

const std::vector<std::string> kThree{"OMPTOOL_HOST_DEVICES=3", "OMPTOOL_DEVICE_POLICY=least-loaded"};

void check(const std::string& scenario, std::vector<std::string> environment, const std::string& says = "") {
  for (const bool queues : {false, true}) {
    environment.push_back(queues ? "OMPTOOL_HOST_QUEUES=1" : "OMPTOOL_HOST_QUEUES=0");
    const Outcome outcome = run_scenario(scenario, environment);
    CAPTURE(queues);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == says);
  }
}

struct Held {
  int number = 1;
  Gate gate;
  tgt_event_t begin(std::int32_t device = -1) {
    Rows region{row(number, TOFROM | REF), gate.its_begun(), gate.its_key()};
    const tgt_event_t event = region.region_later(&host::add_ten_later, {}, device);
    return soon([&] { return gate.has_begun(); }) ? event : nullptr;
  }
};

int device_of_a_region() {
  int marks[1] = {0}, shape[3] = {0, 0, -1};
  Rows region{row(marks, TOFROM | REF), row(shape, TOFROM | REF)};
  return region.teams(&host::team_square, 1, 1) == 0 ? shape[2] : -1;
}

} // namespace

SCENARIO_OF(placement_spreads) {
  use_main();
  Held held[6];
  int on[3] = {0, 0, 0};
  for (Held& one : held) {
    EXPECT(one.begin());
    ++on[one.gate.device()];
  }
  EXPECT(on[0] == 2 && on[1] == 2 && on[2] == 2);
  held[1].gate.open(); // when it is over, its device has less to do than the others
  EXPECT(soon([&] { return device_of_a_region() == held[1].gate.device(); }));
  for (Held& one : held)
    one.gate.open();
  finish_all();
  for (const Held& one : held)
    EXPECT(unwatched(one.number) == 11);
  return 0;
}

TEST_CASE("regions that name no device go to the one with the least to do") {
  check("placement_spreads", kThree);
}

SCENARIO_OF(placement_threads) {
  use_main();
  static Held held[3];
  std::vector<std::thread> threads;
  for (Held& one : held)
    threads.emplace_back([&one] {
      Rows region{row(one.number, TOFROM | REF), one.gate.its_begun(), one.gate.its_key()};
      region.region(&host::add_ten_later);
    });
  int devices = 0;
  for (const Held& one : held) {
    EXPECT(soon([&] { return one.gate.has_begun(); }));
    devices |= 1 << one.gate.device();
  }
  EXPECT(devices == 7);
  for (Held& one : held)
    one.gate.open();
  for (std::thread& thread : threads)
    thread.join();
  return 0;
}

TEST_CASE("so do those of threads that begin at once") {
  check("placement_threads", kThree);
}

SCENARIO_OF(placement_data) {
  use_main();
  Held first, second;
  EXPECT(first.begin(2)); // which has most to do
  EXPECT(second.begin(2));
  int number = 1;
  Rows data{row(number, TOFROM | REF)};
  data.begin(2);
  EXPECT((Rows{row(number, TOFROM | REF), value(1)}.region(&host::add_one)) == 0);
  EXPECT(number == 1); // it is on that device
  data.end(2);
  EXPECT(number == 2);
  EXPECT(first.gate.device() == 2);
  EXPECT(device_of_a_region() != 2);
  first.gate.open();
  second.gate.open();
  finish_all();
  return 0;
}

TEST_CASE("a region goes to the device that has its data, and where its call says") {
  check("placement_data", kThree);
}

SCENARIO_OF(placement_usual) {
  use_main();
  Held held;
  EXPECT(held.begin());
  EXPECT(held.gate.device() == 0);
  EXPECT(device_of_a_region() == 0);
  held.gate.open();
  finish_all();
  return 0;
}

TEST_CASE("without the policy all go to the default device") {
  check("placement_usual", {"OMPTOOL_HOST_DEVICES=3"});
  check("placement_usual", {"OMPTOOL_HOST_DEVICES=3", "OMPTOOL_DEVICE_POLICY=openmp"});
  check("placement_usual", {"OMPTOOL_HOST_DEVICES=3", "OMPTOOL_DEVICE_POLICY=fast"},
        "omptarget: the runtime ignores OMPTOOL_DEVICE_POLICY=fast and uses openmp; known values: openmp, "
        "least-loaded\n");
}

TEST_SUITE_END();

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests devices that a plugin reports as lost while the program runs (decision 23).
#include "scenario.h"
#include "support.h"

#include <csignal>
#include <doctest/doctest.h>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

namespace {

// The program's second copy to the device finds it lost; the core tries one when it starts.
const std::vector<std::string> kLost[] = {
    {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail", "FAKEFAIL_COPY=3", "FAKEFAIL_AT=3",
     "FAKEFAIL_IN=data_submit", "OMPTOOL_HOST_QUEUES=0"},
    {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail", "FAKEFAIL_COPY=3", "FAKEFAIL_AT=3",
     "FAKEFAIL_IN=data_submit", "OMPTOOL_HOST_QUEUES=1"},
};

// Without variables, which only the device has once a kernel has run.
Program one_kernel() {
  return Program({image_file("main")}, {{&host::add_one, "add_one"}});
}

} // namespace

SCENARIO_OF(lost_before_a_kernel) {
  const Program program = one_kernel();
  int values[2] = {1, 2};
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) == 0);
  EXPECT(values[0] == 2);
  for (int i = 0; i < 3; ++i)
    EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) != 0);
  EXPECT(values[0] == 2);
  return 0;
}

TEST_CASE("regions run on the host when their device is lost") {
  for (const std::vector<std::string>& environment : kLost) {
    const Outcome outcome = run_scenario("lost_before_a_kernel", environment);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.has("omptarget: device 0 (fakefail) is lost (FAKE failure)\n"));
    CHECK(
        outcome.has("omptarget: region add_one runs on the host: the device did not take a copy of the object at 0x"));
    CHECK_MESSAGE(!outcome.has("is asked of a lost device"), outcome.output);
  }
}

SCENARIO_OF(lost_with_results) {
  const Program program = one_kernel();
  int values[2] = {1, 2}, other[2] = {};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  EXPECT(Rows({row(values, REF), value(2)}).region(&host::add_one) == 0);
  Rows({row(values, REF), row(other, TOFROM | REF)}).region(&host::add_one);
  return 0;
}

TEST_CASE("what only a lost device has ends the program, by its name") {
  for (const std::vector<std::string>& environment : kLost) {
    const Outcome outcome = run_scenario("lost_with_results", environment);
    CHECK_MESSAGE(outcome.signal == SIGABRT, outcome.output);
    CHECK(outcome.has("region add_one must run on the host, but copying the object at 0x"));
    CHECK(outcome.has("from the device failed (the device is lost)\n"));
  }
}

// With a variable.
static Program counting() {
  return Program({image_file("main")}, main_entries());
}

SCENARIO_OF(lost_at_the_first_copy) {
  const Program program = counting();
  int values[2] = {1, 2};
  host::counter = 7;
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) != 0);
  EXPECT(host::counter == 7);
  return 0;
}

SCENARIO_OF(lost_with_a_variable) {
  const Program program = counting();
  int values[2] = {1, 2};
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) == 0);
  Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one);
  return 0;
}

TEST_CASE("a variable is newer on a device where a kernel has run") {
  for (std::vector<std::string> environment : kLost) {
    const Outcome later = run_scenario("lost_with_a_variable", environment);
    CHECK_MESSAGE(later.signal == SIGABRT, later.output);
    CHECK(later.has("region add_one must run on the host, but copying "));
    environment[3] = "FAKEFAIL_AT=2";
    const Outcome first = run_scenario("lost_at_the_first_copy", environment);
    CHECK_MESSAGE(first.code == 0, first.output);
    CHECK(first.has("omptarget: region add_one runs on the host: the device did not take a copy of the object at 0x"));
    CHECK_MESSAGE(!first.has("is asked of a lost device"), first.output);
  }
}

SCENARIO_OF(lost_at_the_probe) {
  const Program program = one_kernel();
  int values[2] = {1, 2};
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) != 0);
  EXPECT(omp_target_alloc(16, 0) == nullptr);
  return 0;
}

TEST_CASE("a device that is lost before anything runs on it gets no image") {
  for (std::vector<std::string> environment : kLost) {
    environment[3] = "FAKEFAIL_AT=1";
    const Outcome outcome = run_scenario("lost_at_the_probe", environment);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.has("omptarget: region add_one runs on the host: device 0 (fakefail) is lost\n"));
    CHECK_MESSAGE(!outcome.has("is asked of a lost device"), outcome.output);
  }
}

SCENARIO_OF(lost_as_an_event_says) {
  const Program program = one_kernel();
  int values[2] = {1, 2}, other[2] = {1, 2};
  Rows{row(values, TO | REF)}.begin();
  EXPECT(Rows({row(other, TOFROM | REF), value(2)}).region(&host::add_one) != 0);
  return 0;
}

TEST_CASE("a device is lost where an event says so") {
  std::vector<std::string> environment = kLost[1];
  environment[3] = "FAKEFAIL_AT=1";
  environment[4] = "FAKEFAIL_IN=later_data_submit";
  const Outcome outcome = run_scenario("lost_as_an_event_says", environment);
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("omptarget: device 0 (fakefail) is lost (FAKE failure)\n"));
  CHECK(outcome.has("omptarget: region add_one runs on the host: "));
  CHECK_MESSAGE(!outcome.has("is asked of a lost device"), outcome.output);
}

// Each round maps another object.
SCENARIO_OF(thousand_rounds) {
  constexpr int kRounds = 1000;
  const Program program = one_kernel();
  std::vector<std::vector<int>> values(kRounds);
  for (std::size_t round = 0; round < kRounds; ++round) {
    values[round].assign(1 + round % 7, 1);
    int* const object = values[round].data();
    const auto size = static_cast<std::int64_t>(values[round].size() * sizeof(int));
    Rows data{{object, object, size, TOFROM | REF}};
    data.begin();
    if (Rows({{object, object, size, REF}, value(1)}).region(&host::add_one) != 0)
      ++object[0];
    data.end();
    EXPECT(object[0] == 2);
  }
  return 0;
}

TEST_CASE("a device without memory, or lost, has one line for each reason, and a count at the end") {
  for (const char* const queues : {"OMPTOOL_HOST_QUEUES=0", "OMPTOOL_HOST_QUEUES=1"})
    for (const char* const fault : {"FAKEFAIL_IN=data_alloc", "FAKEFAIL_IN=data_submit"}) {
      CAPTURE(queues);
      CAPTURE(fault);
      const Outcome outcome =
          run_scenario("thousand_rounds", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                                           "FAKEFAIL_COPY=3", "FAKEFAIL_AT=2", "FAKEFAIL_ON=1", fault, queues});
      CHECK_MESSAGE(outcome.code == 0, outcome.output);
      CHECK_MESSAGE(outcome.has("device 0 (fakefail) lacks an object, and regions that use it run on the host: "),
                    outcome.output);
      CHECK_MESSAGE(outcome.has("omptarget: repeated 99"), outcome.output);
      std::size_t lines = 0, at = 0;
      for (; (at = outcome.output.find("omptarget: ", at)) != std::string::npos; ++at)
        ++lines;
      CHECK_MESSAGE(lines <= 8, outcome.output);
    }
}

TEST_SUITE_END();

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A begin whose copy fails when its call has returned (decision 32): no result of a kernel that ran on bytes which were
// never copied reaches the program.
#include "asynchronous.h"

#include <csignal>
#include <doctest/doctest.h>
#include <string>
#include <thread>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

namespace {

// Where the device works without queues, and where the copy fails once it is queued. The first copies are the core's
// own, which it never queues, and that of the region which the host holds back.
struct Way {
  const char* function;
  const char* queues;
  int own;
};
const Way kWays[] = {{"data_submit", "0", 1}, {"later_data_submit", "1", 0}};

Outcome run_refused(const std::string& scenario, const Way& way, int copy) {
  return run_scenario(scenario,
                      {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                       std::string("FAKEFAIL_IN=") + way.function, std::string("OMPTOOL_HOST_QUEUES=") + way.queues,
                       "FAKEFAIL_AT=" + std::to_string(way.own + copy)});
}

int number = 1;
Rows there{row(number, TOFROM | REF)};
Rows kernel{row(number, TOFROM | REF), value(1)};

} // namespace

SCENARIO_OF(region_behind_a_refused_begin) {
  use_main();
  HeldRegion held;
  there.begin_later({held.event});
  std::int32_t result = 0;
  kernel.region_later(&host::add_one, {}, -1, nullptr, &result);
  EXPECT(result == 0);
  held.open();
  finish_all();
  return 0;
}

TEST_CASE("a region that was accepted behind a begin which fails ends the program") {
  for (const Way& way : kWays) {
    const Outcome outcome = run_refused("region_behind_a_refused_begin", way, 2);
    CAPTURE(way.function);
    CHECK_MESSAGE(outcome.signal == SIGABRT, outcome.output);
    CHECK_MESSAGE(outcome.has("region add_one"), outcome.output);
    CHECK_MESSAGE(outcome.has("the object at 0x"), outcome.output);
  }
}

SCENARIO_OF(call_behind_a_refused_begin) {
  use_main();
  HeldRegion held;
  there.begin_later({held.event});
  const std::jthread opener = held.open_soon();
  if (kernel.region(&host::add_one) != 0)
    number += 1;
  there.end();
  finish_all();
  EXPECT(number == 2);
  return 0;
}

TEST_CASE("a region behind a begin which fails falls back while it can") {
  for (const Way& way : kWays) {
    const Outcome outcome = run_refused("call_behind_a_refused_begin", way, 2);
    CAPTURE(way.function);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK_MESSAGE(outcome.has("omptarget: region add_one runs on the host: "), outcome.output);
    CHECK_MESSAGE(outcome.has("the device did not take a copy of the object at 0x"), outcome.output);
  }
}

// An `always` copy of an object that is there.
SCENARIO_OF(region_behind_a_refused_update) {
  use_main();
  there.begin();
  HeldRegion held;
  Rows{row(number, TO | ALWAYS | REF)}.begin_later({held.event});
  std::int32_t result = 0;
  kernel.region_later(&host::add_one, {}, -1, nullptr, &result);
  EXPECT(result == 0);
  held.open();
  finish_all();
  return 0;
}

TEST_CASE("so does one behind an always copy that fails") {
  for (const Way& way : kWays) {
    const Outcome outcome = run_refused("region_behind_a_refused_update", way, 3);
    CAPTURE(way.function);
    CHECK_MESSAGE(outcome.signal == SIGABRT, outcome.output);
    CHECK_MESSAGE(outcome.has("the object at 0x"), outcome.output);
  }
}

TEST_SUITE_END();

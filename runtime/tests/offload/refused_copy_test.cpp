// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region whose copy the device refuses at once runs on the host, once what it was to come after has ended.
#include "asynchronous.h"

#include <doctest/doctest.h>
#include <string>
#include <thread>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

SCENARIO_OF(refused_behind_a_held_region) {
  use_main();
  HeldRegion held;
  const std::jthread opener = held.open_soon();
  if (Rows{ones(HeldRegion::number), value(1)}.region(&host::add_one) != 0) {
    EXPECT(unwatched(HeldRegion::number) == 10);
    set_unwatched(HeldRegion::number, 11);
  }
  finish_all();
  EXPECT(unwatched(HeldRegion::number) == 11);
  return 0;
}

TEST_CASE("a region whose copy is refused runs on the host behind what it was to come after") {
  for (const char* queues : {"0", "1"}) {
    CAPTURE(queues);
    // The first copy is the core's own, and the second that of the region which the host holds back.
    const Outcome outcome =
        run_scenario("refused_behind_a_held_region",
                     {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                      std::string("OMPTOOL_HOST_QUEUES=") + queues, "FAKEFAIL_IN=data_submit", "FAKEFAIL_AT=3"});
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK_MESSAGE(outcome.has("region add_one runs on the host"), outcome.output);
  }
}

TEST_SUITE_END();

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTOOL_KERNEL_TIMEOUT: the program ends by a line that names the kernel that does not.
#include "asynchronous.h"

#include <csignal>
#include <thread>

TEST_SUITE_BEGIN("each way"); // to the device, by their own environment

namespace {

int done, come;

// Ends when as many have begun as `expected`.
Rows meeting(std::uintptr_t expected) {
  return Rows{ones(done), ones(come), value(expected)};
}

} // namespace

SCENARIO_OF(endless_region) {
  use_main();
  EXPECT(meeting(1).region(&host::meet) == 0);
  meeting(3).region(&host::meet);
  return 2;
}

TEST_CASE("a kernel that takes longer than it may is named, and ends the program") {
  for (const Environment& plugin : {kPlugins[0], kPlugins[1], kPlugins[3]}) {
    const Outcome outcome = run_scenario("endless_region", with(plugin, {"OMPTOOL_KERNEL_TIMEOUT=1"}));
    CAPTURE(plugin.back());
    CHECK(outcome.signal == SIGABRT);
    CHECK(outcome.output == "omptarget fatal error: region meet on device 0 has not ended within 1 s "
                            "(OMPTOOL_KERNEL_TIMEOUT)\n");
  }
}

SCENARIO_OF(endless_and_left_alone) {
  use_main();
  const tgt_event_t event = meeting(3).region_later(&host::meet);
  std::this_thread::sleep_for(std::chrono::seconds(20));
  return event ? 2 : 3;
}

TEST_CASE("so is one for which nobody waits") {
  for (const Environment& plugin : {kPlugins[0], kPlugins[1]}) {
    const Outcome outcome = run_scenario("endless_and_left_alone", with(plugin, {"OMPTOOL_KERNEL_TIMEOUT=1"}));
    CAPTURE(plugin.back());
    CHECK(outcome.signal == SIGABRT);
    CHECK(outcome.output == "omptarget fatal error: region meet on device 0 has not ended within 1 s "
                            "(OMPTOOL_KERNEL_TIMEOUT)\n");
  }
}

SCENARIO_OF(one_after_the_other) {
  use_main();
  void (*const take_time)() = [] { std::this_thread::sleep_for(std::chrono::milliseconds(400)); };
  std::vector<tgt_event_t> events;
  for (int i = 0; i < 4; ++i)
    events.push_back(
        Rows{ones(done), value(reinterpret_cast<std::uintptr_t>(take_time))}.region_later(&host::call_host));
  std::this_thread::sleep_for(std::chrono::milliseconds(1800));
  finish_all();
  for (const tgt_event_t event : events)
    __tgt_release_dep(event);
  EXPECT(done == 4);
  return 0;
}

TEST_CASE("a kernel that was queued behind others is timed from their end") {
  for (const Environment& plugin : {kPlugins[0], kPlugins[1]}) {
    const Outcome outcome = run_scenario("one_after_the_other", with(plugin, {"OMPTOOL_KERNEL_TIMEOUT=1"}));
    CAPTURE(plugin.back());
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "");
  }
}

SCENARIO_OF(waited_for_late) {
  use_main();
  const tgt_event_t event = meeting(1).region_later(&host::meet);
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  finish_all();
  __tgt_release_dep(event);
  EXPECT(meeting(2).region(&host::meet) == 0);
  EXPECT(done == 2);
  return 0;
}

TEST_CASE("a kernel that has ended may be waited for as late as one likes") {
  check_everywhere("waited_for_late", {"OMPTOOL_KERNEL_TIMEOUT=1"});
}

TEST_CASE("a timeout that is none is refused") {
  const Outcome outcome = run_scenario("waited_for_late", {"OMPTOOL_KERNEL_TIMEOUT=-1"});
  CHECK(outcome.code == 0);
  CHECK(outcome.output == "omptarget: the runtime ignores OMPTOOL_KERNEL_TIMEOUT=-1 and uses 0; known values: integers "
                          "from 0 to 1000000\n");
}

TEST_SUITE_END();

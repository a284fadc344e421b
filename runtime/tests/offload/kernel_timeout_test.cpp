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
  CHECK(outcome.output == "omptarget: OMPTOOL_KERNEL_TIMEOUT=-1 is not a value for it; 0 is used\n");
}

TEST_SUITE_END();

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fault_sweep.h"

#include "scenario.h"

#include <csignal>
#include <doctest/doctest.h>

FaultSweep fail_each_call(const std::string& scenario, const std::vector<std::string>& environment) {
  FaultSweep sweep;
  for (const char* stay : {"FAKEFAIL_ON=0", "FAKEFAIL_ON=1"})
    for (int at = 1;; at += kSweepStep) {
      REQUIRE(at < 400);
      std::vector<std::string> failing = environment;
      failing.insert(failing.end(), {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail", stay,
                                     "FAKEFAIL_AT=" + std::to_string(at)});
      const Outcome outcome = run_scenario(scenario, failing);
      INFO("call " << at << ", " << stay << ": " << outcome.output);
      if (outcome.signal == SIGABRT) {
        CHECK(outcome.has("omptarget fatal error: "));
        ++sweep.aborted;
      } else {
        CHECK(outcome.code == 0);
        CHECK(outcome.has("done"));
        CHECK(!outcome.has("FAKE: 0x")); // left, or freed twice
        ++sweep.completed;
      }
      if (outcome.code == 0 && !outcome.has("FAKE: call"))
        break; // fewer calls than that
    }
  return sweep;
}

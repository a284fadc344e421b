// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what messages may hold: text of images and of the environment, which is anything.
#include "process/message.h"

#include "scenario.h"

#include <doctest/doctest.h>

SCENARIO_OF(tells_hostile_text) {
  omptool::tell("", "a \x1b[31mtriple\x7f of\ntwo lines");
  omptool::tell("", "%s", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  omptool::tell("", "%s", "\xff \xc0\x80 \xc2\x9b \xe2\x82");
  return 0;
}

TEST_CASE("a message commands no terminal, and is one line") {
  const Outcome outcome = run_scenario("tells_hostile_text");
  CHECK(outcome.output == "a ?[31mtriple? of?two lines\n"
                          "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\n"
                          "? ?? ?? ??\n");
}

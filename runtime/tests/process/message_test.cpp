// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what messages may hold, which is anything (text of images and of the environment), and that a line which comes
// again is counted.
#include "process/message.h"

#include "process/repeated_lines.h"
#include "scenario.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <map>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

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

namespace {

void say_a_thousand_times() {
  for (int round = 0; round < 1000; ++round) {
    omptool::say("device 0 has no memory for the object at %p (%d bytes)", static_cast<void*>(&round + round), round);
    omptool::say("device 1 is lost");
  }
}

} // namespace

SCENARIO_OF(says_again) {
  say_a_thousand_times();
  std::puts("the last line of the program");
  return 0;
}

TEST_CASE("a line that comes again is counted, whatever object it names, and its count is printed at the end") {
  const Outcome outcome = run_scenario("says_again");
  CHECK_MESSAGE(outcome.has("omptarget: device 1 is lost\n"), outcome.output);
  CHECK_MESSAGE(outcome.has("omptarget: repeated 999 times: device 1 is lost\n"), outcome.output);
  CHECK_MESSAGE(outcome.has("omptarget: repeated 999 times: device 0 has no memory for the object at 0x"),
                outcome.output);
  CHECK(std::count(outcome.output.begin(), outcome.output.end(), '\n') == 5);
  CHECK(run_scenario("says_again", {"OMPTOOL_QUIET=1"}).output == "the last line of the program\n");
}

SCENARIO_OF(warns_again) {
  omptool::warn("the end is near");
  omptool::warn("the end is near");
  omptool::die("the end");
}

TEST_CASE("repetitions are printed before the line with which a process dies") {
  const Outcome outcome = run_scenario("warns_again", {"OMPTOOL_QUIET=1"});
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.output == "omptarget: the end is near\nomptarget: repeated 1 time: the end is near\n"
                          "omptarget fatal error: the end\n");
}

SCENARIO_OF(says_in_a_child) {
  omptool::say("a line");
  omptool::say("a line");
  if (::fork() == 0) {
    omptool::say("a line");
    std::exit(0);
  }
  int status = 0;
  ::wait(&status);
  return status;
}

TEST_CASE("a child of fork counts its own lines") {
  const Outcome outcome = run_scenario("says_in_a_child");
  CHECK(outcome.output == "omptarget: a line\nomptarget: a line\nomptarget: repeated 1 time: a line\n");
}

TEST_CASE("threads count each line once, and lines behind the last place are not counted") {
  static omptool::RepeatedLines lines; // its texts are never freed
  constexpr int kThreads = 8;
  const int most = static_cast<int>(omptool::RepeatedLines::kMost);
  const auto name = [](int line) { return "line " + std::to_string(line); };
  std::atomic<int> fresh{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&] {
        for (int line = 0; line < most; ++line)
          fresh += lines.is_new(name(line)) ? 1 : 0;
      });
  }
  CHECK(fresh == most);
  CHECK(lines.is_new(name(most)));
  CHECK(lines.is_new(name(most)));
  std::map<std::string, std::uint64_t> counts;
  lines.take([&](const char* line, std::uint64_t repetitions) { counts[line] = repetitions; });
  CHECK(counts.size() == omptool::RepeatedLines::kMost);
  CHECK(counts.at(name(0)) == kThreads - 1);
  lines.take([&](const char*, std::uint64_t) { FAIL("its repetitions have been taken"); });
}

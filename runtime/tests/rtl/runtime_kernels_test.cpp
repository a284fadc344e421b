// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that were written for a device runtime: the host plugin calls them once for each team of their calls' shape.
#include "llvm_calls.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <doctest/doctest.h>
#include <string>
#include <thread>

using namespace llvm_abi;

namespace {

char open_kernel, bounded, brief, plain, take;

// Holds what the calls of a launch saw.
struct Seen {
  std::int32_t calls, number_sum, teams, thread_limit, others;
  bool operator==(const Seen&) const = default;
};
Seen of_teams(std::int32_t count, std::int32_t thread_limit = 0) {
  return {count, count * (count - 1) / 2, count, thread_limit, 0};
}

Library<Record56>& use_library() {
  static auto& library = *new Library<Record56>(
      image_file("device_runtime"),
      {{&open_kernel, "open"}, {&bounded, "bounded"}, {&brief, "brief"}, {&plain, "plain"}, {&take, "take"}});
  return library;
}

// Launches a kernel as flang's programs do.
bool saw(void* kernel, std::uint32_t teams, std::uint32_t threads, const Seen& expected) {
  Numbers numbers{0, 0, {teams, 0, 0}, {threads, 0, 0}};
  numbers.num_teams = static_cast<std::int32_t>(teams);
  numbers.thread_limit = static_cast<std::int32_t>(threads);
  Seen seen{};
  return launch(kernel, 3, numbers) == 0 && launch(&take, {element(seen, kFrom | kParameter)}, 1) == 0 &&
         seen == expected;
}

} // namespace

SCENARIO_OF(teams_of_device_runtime) {
  use_library();
  const auto processors = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  for (int round = 0; round < 2; ++round) {
    EXPECT(saw(&open_kernel, 5, 0, of_teams(5)));
    EXPECT(saw(&open_kernel, 1, 0, of_teams(1)));
    EXPECT(saw(&open_kernel, ~0U, 7, of_teams(1, 7))); // not a construct of teams
    EXPECT(saw(&open_kernel, 4, 2, of_teams(4, 2)));
    EXPECT(saw(&open_kernel, 0, 0, of_teams(processors)));
    EXPECT(saw(&open_kernel, 3000, 0, of_teams(3000)));
    EXPECT(saw(&bounded, 2, 0, of_teams(2)));
    EXPECT(saw(&bounded, 100, 0, of_teams(3)));
    EXPECT(saw(&bounded, 0, 0, of_teams(std::min(processors, 3))));
    EXPECT(saw(&brief, 5, 4, of_teams(1)));
    EXPECT(saw(&plain, 5, 4, of_teams(1)));
  }
  return 0;
}

TEST_CASE("kernels of a device runtime run once for each team, never more than their environment allows") {
  const Outcome outcome = run_scenario("teams_of_device_runtime");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

TEST_CASE("a plugin is told the shape of kernels that take it, though others make their teams themselves") {
  const auto run = [](const std::string& takes) {
    return run_scenario("shapes_of_clang", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakewhole",
                                            "OMPTOOL_PLUGINS=fakewhole", "FAKEWHOLE_MAKES_TEAMS=1", takes});
  };
  Outcome outcome = run("FAKEWHOLE_TAKES_SHAPE=1");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("teams 5 1 1 threads 6 1 1\n"));
  outcome = run("FAKEWHOLE_TAKES_SHAPE=0");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output.empty());
}

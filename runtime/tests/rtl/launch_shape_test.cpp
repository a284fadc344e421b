// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the shape that a plugin receives with each call, and the effect of a plugin that receives none.
#include "llvm_calls.h"

#include <cstdio>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace llvm_abi;

namespace {

constexpr std::uint32_t kAll = ~0U; // what clang writes where a construct has no teams

Outcome run_on(const std::string& fake, const std::string& scenario, const std::string& more = "UNUSED=") {
  return run_scenario(scenario, {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/" + fake, "OMPTOOL_PLUGINS=" + fake, more});
}

// Returns the shape as fakewhole prints it.
std::string shape(const std::string& trip, const std::string& teams, const std::string& threads,
                  const std::string& dynamic = "0", const std::string& flags = "0") {
  return "FAKE: size 48 flags " + flags + " trip " + trip + " dynamic " + dynamic + " teams " + teams + " threads " +
         threads + "\n";
}

Library<Record56>& use_llvm() {
  static auto& library = *new Library<Record56>(image_file("main"), main_entries());
  return library;
}

using TeamsCall = std::int32_t(void*, std::int64_t, void*, std::uint32_t, void**, void**, std::int64_t*, std::int64_t*,
                               void**, void**, std::int32_t, std::int32_t);
using OldTeamsCall = std::int32_t(std::int64_t, void*, std::uint32_t, void**, void**, std::int64_t*, std::int64_t*,
                                  std::int32_t, std::int32_t);

__attribute__((no_sanitize("undefined"))) std::int32_t call_teams(const char* name, std::int32_t teams,
                                                                  std::int32_t threads) {
  return reinterpret_cast<TeamsCall*>(versioned(name))(nullptr, -1, &host::nothing, 0, nullptr, nullptr, nullptr,
                                                       nullptr, nullptr, nullptr, teams, threads);
}
__attribute__((no_sanitize("undefined"))) std::int32_t call_old_teams(std::int32_t teams, std::int32_t threads) {
  return reinterpret_cast<OldTeamsCall*>(versioned("__tgt_target_teams"))(-1, &host::nothing, 0, nullptr, nullptr,
                                                                          nullptr, nullptr, teams, threads);
}
void push_trip_count(std::int64_t device, std::uint64_t count) {
  reinterpret_cast<void (*)(void*, std::int64_t, std::uint64_t)>(versioned("__kmpc_push_target_tripcount_mapper"))(
      nullptr, device, count);
}

} // namespace

SCENARIO_OF(shapes_of_the_documents) {
  use_main();
  EXPECT(Rows{}.region(&host::nothing) == 0);
  EXPECT(Rows{}.teams(&host::nothing, 4, 3) == 0);
  EXPECT(Rows{}.teams(&host::nothing, 0, -7) == 0);
  return 0;
}

TEST_CASE("the documents' calls have one dimension, and one team of one thread is no shape") {
  const Outcome outcome = run_on("fakewhole", "shapes_of_the_documents");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == shape("0", "4 1 1", "3 1 1") + shape("0", "0 1 1", "0 1 1"));
}

SCENARIO_OF(shapes_of_clang) {
  use_llvm();
  for (int round = 0; round < 2; ++round) // the second may go another way
    EXPECT(launch(&host::nothing, 3, {1000, 0, {8, 2, 4}, {64, 2, 1}, 256, 8, 64}) == 0);
  EXPECT(launch(&host::nothing, 3, {0, 1 | 1 << 4, {8, 0, 0}, {64, 0, 0}, 0, 8, 64}) == 0);
  EXPECT(launch(&host::nothing, 3, {0, 0, {kAll, 0, 0}, {0, 0, 0}, 0, -1, 0}) == 0);
  EXPECT(launch(&host::nothing, 3, {77, 0, {0, 0, 0}, {kAll, 0, 0}, 0, 0, -1}) == 0);
  EXPECT(launch(&host::nothing, 3, {0, 0, {}, {}, 0, 5, 6}) == 0);
  EXPECT(launch(&host::nothing, 2, {9, 0, {3, 0, 0}, {4, 0, 0}, 0, 3, 4}) == 0);
  EXPECT(launch(&host::nothing, 1, {9, 0, {}, {}, 0, 3, 4}) == 0);
  return 0;
}

TEST_CASE("what clang passes arrives: dimensions, iterations, memory, flags") {
  const Outcome outcome = run_on("fakewhole", "shapes_of_clang");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  const std::string environment = "2", cooperative = "3"; // OMPTARGET_SHAPE_ENVIRONMENT_FIRST
  const std::string first = shape("1000", "8 2 4", "64 2 1", "256", environment);
  CHECK(outcome.output == first + first + shape("0", "8 1 1", "64 1 1", "0", cooperative) +
                              shape("0", "1 1 1", "0 1 1", "0", environment) +
                              shape("77", "0 1 1", "0 1 1", "0", environment) +
                              shape("0", "5 1 1", "6 1 1", "0", environment) +
                              shape("9", "3 1 1", "4 1 1", "0", environment) + shape("9", "3 1 1", "4 1 1"));
}

SCENARIO_OF(shapes_of_clang_23) {
  use_llvm();
  for (const std::uint64_t otherwise : {0U, 1U, 2U})
    EXPECT(launch(&host::nothing, kLastEnvironment, {0, otherwise << 2, {8, 0, 0}, {64, 0, 0}, 256, 8, 64}) == 0);
  return 0;
}

TEST_CASE("what clang 23 passes arrives: where its environment is, and what happens without memory of teams") {
  const Outcome outcome = run_on("fakewhole", "shapes_of_clang_23");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  std::string expected;
  for (const char* flags : {"4", "12", "20"})
    expected += shape("0", "8 1 1", "64 1 1", "256", flags);
  CHECK(outcome.output == expected);
}

TEST_CASE("a plugin that is asked for lines gets to know in which words") {
  const Outcome outcome = run_on("fakewhole", "shapes_of_clang_23", "LIBOMPTARGET_INFO=16");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  std::string expected;
  for (const char* flags : {"68", "76", "84"}) // OMPTARGET_SHAPE_NAMES_DIMENSIONS
    expected += shape("0", "8 1 1", "64 1 1", "256", flags);
  CHECK(outcome.output == expected);
}

SCENARIO_OF(shapes_of_clang_14) {
  use_llvm();
  EXPECT(call_teams("__tgt_target_teams_mapper", 6, 32) == 0);
  EXPECT(call_teams("__tgt_target_teams_nowait_mapper", 0, 0) == 0);
  EXPECT(call_teams("__tgt_target_mapper", 6, 32) == 0); // has no numbers
  EXPECT(call_old_teams(5, 16) == 0);
  push_trip_count(-1, 123);
  EXPECT(call_teams("__tgt_target_teams_mapper", 1, 2) == 0);
  EXPECT(call_teams("__tgt_target_teams_mapper", 1, 2) == 0); // only the next region
  push_trip_count(1, 456);                                    // is the host, and not the device
  EXPECT(call_teams("__tgt_target_teams_mapper", 3, 4) == 0);
  push_trip_count(0, 789);
  EXPECT(call_teams("__tgt_target_mapper", 0, 0) == 0);
  return 0;
}

TEST_CASE("what clang 14 passes arrives, and the iterations that it has said before") {
  const Outcome outcome = run_on("fakewhole", "shapes_of_clang_14");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == shape("0", "6 1 1", "32 1 1") + shape("0", "0 1 1", "0 1 1") + shape("0", "1 1 1", "0 1 1") +
                              shape("0", "5 1 1", "16 1 1") + shape("123", "1 1 1", "2 1 1") +
                              shape("0", "1 1 1", "2 1 1") + shape("0", "3 1 1", "4 1 1") +
                              shape("789", "1 1 1", "0 1 1"));
}

SCENARIO_OF(shape_refused) {
  use_llvm();
  EXPECT(launch(&host::nothing, 3, {1000, 0, {8, 2, 4}, {64, 2, 1}, 256, 8, 64}) != 0);
  return 0;
}

TEST_CASE("a shape that the plugin does not launch is the host's turn") {
  const Outcome outcome = run_on("fakewhole", "shape_refused", "FAKEWHOLE_NOT_STARTED=1");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region nothing runs on the host: device 0 (fakewhole) did not start the kernel (FAKE shape)\n"));
}

// One call of the kernel, whatever the shape.
SCENARIO_OF(shape_of_one_call) {
  use_llvm();
  int marks[8] = {}, seen[3] = {};
  const std::vector<Element> arguments{element(marks, kTofrom | kParameter), element(seen, kTofrom | kParameter)};
  for (int round = 0; round < 2; ++round)
    EXPECT(launch(&host::team_square, arguments, 1) == 0);
  EXPECT(marks[0] == 2 && marks[1] == 0);
  EXPECT(seen[0] == 1 && seen[1] == 1);
  return 0;
}

TEST_CASE("kernels that make their teams themselves are called once, and so are those of plugins without shapes") {
  Outcome outcome = run_on("fakewhole", "shapes_of_clang", "FAKEWHOLE_MAKES_TEAMS=1");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output.empty());
  outcome = run_on("fakewhole", "shapes_of_the_documents", "FAKEWHOLE_MAKES_TEAMS=1");
  CHECK(outcome.output == shape("0", "4 1 1", "3 1 1") + shape("0", "0 1 1", "0 1 1"));
  for (const char* plugin : {"fakeasking", "fakefail"}) {
    outcome = run_on(plugin, "shape_of_one_call");
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
  }
  outcome = run_scenario("shape_of_one_call");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

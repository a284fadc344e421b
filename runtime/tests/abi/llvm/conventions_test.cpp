// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls and images of every generation. A call has the version of its record and the place of the launch environment;
// an image decides how its kernels are called.
#include "llvm_calls.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>

using namespace llvm_abi;

namespace {

// Caller whose image and version of calls come from the environment.
struct Caller {
  const char* const image = std::getenv("TEST_IMAGE");
  const std::uint32_t version = static_cast<std::uint32_t>(std::atoi(std::getenv("TEST_VERSION")));
  const Library<Record56> library{
      image_file(image),
      {{&host::record, "record"}, {&host::add_one, "add_one"}, {host::seen, "seen", sizeof host::seen}},
      std::getenv("TEST_WRAPPED") ? Wrapping::kOffloadBinary : Wrapping::kRaw};
};

std::vector<std::string> caller(const std::string& image, int version) {
  return {"TEST_IMAGE=" + image, "TEST_VERSION=" + std::to_string(version)};
}

Outcome run(const std::string& scenario, const std::string& image, int version, const char* more = "UNUSED=") {
  std::vector<std::string> environment = caller(image, version);
  environment.push_back(more);
  return run_scenario(scenario, environment);
}

} // namespace

SCENARIO_OF(conventions_arguments) {
  const Caller caller;
  std::vector<Element> arguments;
  for (std::uintptr_t i = 0; i < 8; ++i)
    arguments.push_back(literal(11 + i));
  for (int round = 0; round < 2; ++round) { // the second goes the short way
    std::memset(host::seen, 0, sizeof host::seen);
    data("__tgt_target_data_update_mapper", {element(host::seen, kTo)});
    EXPECT(launch(&host::record, arguments, caller.version) == 0);
    data("__tgt_target_data_update_mapper", {element(host::seen, kFrom)});
    for (std::uintptr_t i = 0; i < 8; ++i)
      EXPECT(host::seen[i] == reinterpret_cast<void*>(11 + i));
    int values[4] = {1, 2, 3, 4};
    EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(4)},
                  caller.version) == 0);
    EXPECT(values[0] == 2 && values[3] == 5);
  }
  return 0;
}

TEST_CASE("a kernel gets its arguments as its compiler has it, whatever the call") {
  const struct {
    const char* image;
    int version;
  } sound[] = {{"clang16", 1}, {"clang16", 2}, {"clang18", 2}, {"clang22", 3}, {"clang23", 5},
               {"clang22", 5}, {"clang23", 3}, {"mixed1", 3},  {"mixed2", 5},  {"clang24", 5}};
  for (const auto& [image, version] : sound) {
    const Outcome outcome = run("conventions_arguments", image, version, "OMP_TARGET_OFFLOAD=MANDATORY");
    CHECK_MESSAGE(outcome.code == 0, image << ", version " << version << ": " << outcome.output);
    CHECK(outcome.output.empty());
  }
}

SCENARIO_OF(conventions_disagree) {
  const Caller caller;
  int values[4] = {1, 2, 3, 4};
  const std::vector<Element> whole{element(values, kTofrom)};
  data("__tgt_target_data_begin_mapper", whole);
  values[0] = 0;
  for (int round = 0; round < 2; ++round)
    EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(4)},
                  caller.version) != 0);
  EXPECT(values[0] == 1 && values[3] == 4); // what the device has
  values[0] = 10;                           // as the host's version does
  data("__tgt_target_data_end_mapper", whole);
  EXPECT(values[0] == 10 && values[3] == 4);
  return 0;
}

TEST_CASE("a call and an image that cannot belong together are named, and the region runs on the host") {
  const struct {
    const char* image;
    int version;
    const char* more;
  } faults[] = {{"clang16", 3, "UNUSED="}, {"clang16", 5, "UNUSED="}, {"clang22", 1, "UNUSED="},
                {"clang23", 1, "UNUSED="}, {"clang23", 2, "UNUSED="}, {"clang18", 2, "TEST_WRAPPED=1"}};
  for (const auto& [image, version, more] : faults) {
    const Outcome outcome = run("conventions_disagree", image, version, more);
    CHECK_MESSAGE(outcome.code == 0, image << ", version " << version << ": " << outcome.output);
    CHECK_MESSAGE(outcome.has("omptarget: region add_one runs on the host: the program calls it with"), outcome.output);
    CHECK_MESSAGE(outcome.has(", compiled by clang " + std::string(image + 5) + "."), outcome.output);
    CHECK_MESSAGE(outcome.has("\nomptarget: repeated 1 time: region add_one runs on the host: "), outcome.output);
  }
  std::vector<std::string> environment = caller("clang16", 5);
  environment.push_back("OMP_TARGET_OFFLOAD=MANDATORY");
  const Outcome outcome = run_scenario("conventions_disagree", environment);
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("the program calls it with a launch environment last"));
}

SCENARIO_OF(conventions_no_environment) {
  const Caller caller;
  int values[4] = {1, 2, 3, 4};
  data("__tgt_target_data_begin_mapper", {element(values, kTofrom)});
  values[0] = 0;
  const Element array{values, values, sizeof values, kTofrom | kParameter};
  EXPECT(launch_as_it_is(&host::add_one, {array, literal(4), {nullptr, nullptr, 8, kLiteral | kParameter}}, 5) != 0);
  EXPECT(values[0] == 1); // what the device has
  EXPECT(launch_as_it_is(&host::add_one, {array, literal(4)}, 5) != 0);
  EXPECT(launch_as_it_is(&host::add_one, {}, 5) != 0);
  data("__tgt_target_data_end_mapper", {element(values, kTofrom)});
  EXPECT(values[0] == 1 && values[3] == 4);
  return 0;
}

TEST_CASE("arguments of version 5 without a launch environment, or with one of a size, are refused") {
  const Outcome outcome = run("conventions_no_environment", "clang23", 5);
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region add_one runs on the host: the last of its arguments is no launch environment"));
}

SCENARIO_OF(conventions_nullify) {
  const Library<Record56> library(image_file("clang23"), {{&host::record, "record"}});
  int present[4] = {}, absent[4] = {};
  data("__tgt_target_data_begin_mapper", {element(present, kTo)});
  const std::vector<void*> given = data("__tgt_target_data_begin_mapper", {{present, present, 0, kReturn | kNullify},
                                                                           {absent, absent, 0, kReturn | kNullify},
                                                                           {absent, absent + 2, 0, kReturn | kNullify},
                                                                           {absent, absent, 0, kReturn}});
  const bool is_shared = std::getenv("OMPTOOL_HOST_MEMORY");
  EXPECT((given[0] == present) == is_shared);
  EXPECT(given[0] != nullptr);
  EXPECT(given[1] == (is_shared ? absent : nullptr));
  EXPECT(given[2] ==
         (is_shared ? static_cast<void*>(absent) : reinterpret_cast<void*>(std::uintptr_t{0} - 2 * sizeof(int))));
  EXPECT(given[3] == absent);
  return 0;
}

TEST_CASE("use_device_ptr with fb_nullify gives NULL for what is absent, unless host and device share their memory") {
  for (const char* memory : {"UNUSED=", "OMPTOOL_HOST_MEMORY=shared"}) {
    const Outcome outcome = run_scenario("conventions_nullify", {memory});
    CHECK_MESSAGE(outcome.code == 0, memory << ": " << outcome.output);
  }
}

SCENARIO_OF(conventions_overflow) {
  const Library<Record56> library(image_file("clang23"), {{&host::record, "record"}});
  int values[4] = {1, 2, 3, 4};
  struct {
    std::uint64_t offset, count, stride;
  } dimensions[] = {{0, 3, std::uint64_t{1} << 62}, {0, 4, 1}};
  data("__tgt_target_data_begin_mapper", {element(values, kTo)});
  values[0] = 5;
  data("__tgt_target_data_update_mapper", {{values, dimensions, 2, kTo | kNonContiguous}});
  data("__tgt_target_data_update_mapper", {{values, dimensions, 0, kTo | kNonContiguous}});
  data("__tgt_target_data_update_mapper", {element(values, kFrom)});
  EXPECT(values[0] == (std::getenv("OMPTOOL_HOST_MEMORY") ? 5 : 1) && values[3] == 4);
  data("__tgt_target_data_end_mapper", {element(values, kTo)});
  return 0;
}

TEST_CASE("an update whose dimensions overflow, or are none, is named and ignored") {
  const Outcome outcome = run_scenario("conventions_overflow");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  const std::string call = "omptarget: __tgt_target_data_update_mapper: argument 0 ";
  CHECK(outcome.has(call + "names memory that cannot exist (address 0x"));
  CHECK(outcome.has(call + "has an impossible number of dimensions (address 0x"));
  CHECK(std::count(outcome.output.begin(), outcome.output.end(), '\n') == 2);
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of compilers that came after this library. Nothing of theirs is guessed at: one line, and the right data.
#include "llvm_calls.h"

#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>

using namespace llvm_abi;

namespace {

constexpr std::int64_t kUnknownBit = 0x20000;
constexpr std::uint32_t kUnknownVersion = 6;
const std::string kAdvice = "; update omptool, or compile with clang 24 or older";

Library<Record56> library_of_25() {
  return {image_file("clang25"), {{&host::add_one, "add_one"}, {host::seen, "seen", sizeof host::seen}}};
}

} // namespace

// Between regions that are known, and in a construct that maps what the unknown one does not seem to name.
SCENARIO_OF(newer_version) {
  const Library<Record56> library = library_of_25();
  int values[4] = {1, 2, 3, 4};
  const std::vector<Element> arguments{{values, values, sizeof values, kTofrom | kParameter}, literal(4)};
  data("__tgt_target_data_begin_mapper", {element(values, kTofrom)});
  EXPECT(launch(&host::add_one, arguments, kLastEnvironment) == 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT(launch(&host::add_one, {}, kUnknownVersion) != 0);
    EXPECT(values[0] == 2 + 10 * round && values[3] == 5 + 10 * round);
    for (int& value : values) // as the host's version does
      value += 10;
  }
  EXPECT(launch(&host::add_one, arguments, kLastEnvironment) == 0);
  data("__tgt_target_data_end_mapper", {element(values, kTofrom)});
  EXPECT(values[0] == 23 && values[3] == 26);
  return 0;
}

TEST_CASE("kernel arguments of a newer version: the compiler is named, and the host has what the device had") {
  const std::string reason = "kernel arguments of version 6 are unknown, which clang 25.0.0git wrote" + kAdvice;
  const Outcome outcome = run_scenario("newer_version");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  const std::string line = "region add_one runs on the host: " + reason + "\n";
  CHECK(outcome.output == "omptarget: " + line + "omptarget: repeated 1 time: " + line);
  const Outcome mandatory = run_scenario("newer_version", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK(mandatory.signal == SIGABRT);
  CHECK_MESSAGE(mandatory.has(reason), mandatory.output);
}

SCENARIO_OF(newer_bits_of_a_region) {
  const Library<Record56> library = library_of_25();
  int values[4] = {1, 2, 3, 4}, others[4] = {1, 2, 3, 4};
  const std::vector<Element> both{element(values, kTofrom), element(others, kTofrom)};
  data("__tgt_target_data_begin_mapper", both);
  for (int* const object : {values, others})
    EXPECT(launch(&host::add_one, {{object, object, sizeof values, kTofrom | kParameter}, literal(4)},
                  kLastEnvironment) == 0);
  EXPECT(launch(&host::add_one,
                {{values, values, sizeof values, kTofrom | kParameter | kUnknownBit},
                 literal(4),
                 {others, others, sizeof others, kTofrom | kParameter}},
                kLastEnvironment) != 0);
  EXPECT(values[0] == 2 && others[0] == 2);
  values[0] = others[0] = 20; // as the host's version does
  data("__tgt_target_data_end_mapper", both);
  EXPECT(values[0] == 20 && others[0] == 20 && values[3] == 5 && others[3] == 5);
  return 0;
}

TEST_CASE("map-type bits of a newer compiler make a region run on the host") {
  const std::string reason = "map-type bits 0x20000 are unknown, which clang 25.0.0git wrote" + kAdvice;
  const Outcome outcome = run_scenario("newer_bits_of_a_region");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "omptarget: region add_one runs on the host: " + reason + "\n");
  const Outcome mandatory = run_scenario("newer_bits_of_a_region", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK(mandatory.signal == SIGABRT);
  CHECK_MESSAGE(mandatory.has(reason), mandatory.output);
}

SCENARIO_OF(newer_bits_of_data) {
  const Library<Record56> library = library_of_25();
  int values[4] = {1, 2, 3, 4};
  const std::vector<Element> arguments{{values, values, sizeof values, kTofrom | kParameter}, literal(4)};
  const std::vector<Element> unknown{element(values, kTofrom | kUnknownBit)};
  data("__tgt_target_data_begin_mapper", unknown); // ignored, and so is its end
  EXPECT(!omp_target_is_present(values, 0));
  EXPECT(launch(&host::add_one, arguments, kLastEnvironment) == 0);
  EXPECT(values[0] == 2);
  data("__tgt_target_data_end_mapper", unknown);

  data("__tgt_target_data_begin_mapper", {element(values, kTofrom)});
  EXPECT(launch(&host::add_one, arguments, kLastEnvironment) == 0);
  EXPECT(values[0] == 2);
  data("__tgt_target_data_update_mapper", {element(values, kFrom | kUnknownBit)});
  EXPECT(values[0] == 3);
  values[0] = 30;
  data("__tgt_target_data_update_mapper", {element(values, kTo | kUnknownBit)});
  EXPECT(values[0] == 30);
  EXPECT(launch(&host::add_one, arguments, kLastEnvironment) == 0);
  data("__tgt_target_data_end_mapper", unknown);
  EXPECT(values[0] == 31 && values[3] == 7);
  return 0;
}

TEST_CASE("map-type bits of a newer compiler in constructs that map data are said once, and the host has its data") {
  const std::string reason = "map-type bits 0x20000 are unknown, which clang 25.0.0git wrote" + kAdvice;
  const Outcome outcome = run_scenario("newer_bits_of_data");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  const std::string line = "the runtime ignores a construct that maps or updates data: " + reason + "\n";
  CHECK(outcome.output == "omptarget: " + line + "omptarget: repeated 4 times: " + line);
  CHECK(run_scenario("newer_bits_of_data", {"OMP_TARGET_OFFLOAD=MANDATORY"}).signal == SIGABRT);
}

// Firstprivate values that a task graph of LLVM 24 saves; of other rows the bit is unknown.
SCENARIO_OF(saved_values) {
  const Library<Record56> library = library_of_25();
  constexpr std::int64_t kSaved = 0x10000;
  int values[4] = {1, 2, 3, 4};
  Element number = literal(4);
  number.type |= kSaved;
  EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, number}, kLastEnvironment) ==
         0);
  EXPECT(values[0] == 2 && values[3] == 5);
  EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter | kSaved}, number},
                kLastEnvironment) != 0);
  return 0;
}

TEST_CASE("a value that a task graph would save is passed at each launch") {
  const Outcome outcome = run_scenario("saved_values");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK_MESSAGE(outcome.has("map-type bits 0x10000 are unknown, which clang 25.0.0git wrote"), outcome.output);
}

SCENARIO_OF(newer_entries) {
  std::vector<char> bytes = image_file("clang25");
  Record56 record{};
  record.version = 2;
  record.address = &host::add_one;
  record.name = "add_one";
  __tgt_device_image image{bytes.data(), bytes.data() + bytes.size(), nullptr, nullptr};
  struct {
    std::int32_t images;
    __tgt_device_image* image;
    void *first, *last;
  } descriptor{1, &image, &record, &record + 1};
  register_library(&descriptor);
  EXPECT(omp_get_num_devices() == 0);
  EXPECT(launch(&host::add_one, {}, kLastEnvironment) != 0);
  unregister_library(&descriptor);
  return 0;
}

SCENARIO_OF(newer_container) {
  std::vector<char> bytes = wrapped(image_file("clang25"));
  bytes[4] = 4;
  const Library<Record56> library(bytes, {{&host::add_one, "add_one"}});
  EXPECT(omp_get_num_devices() == 0);
  EXPECT(launch(&host::add_one, {}, kLastEnvironment) != 0);
  return 0;
}

TEST_CASE("entries and containers of newer versions are named, and their regions run on the host for that reason") {
  for (const auto& [scenario, what] : {std::pair{"newer_entries", "entries of version 2 are unknown, which"},
                                       std::pair{"newer_container", "OffloadBinary 4 is unknown, which"}}) {
    const Outcome outcome = run_scenario(scenario);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK_MESSAGE(outcome.has("omptarget: the runtime ignores the images of "), outcome.output);
    CHECK_MESSAGE(outcome.has(std::string(": ") + what), outcome.output);
    CHECK(outcome.has(kAdvice));
    const Outcome mandatory = run_scenario(scenario, {"OMP_TARGET_OFFLOAD=MANDATORY"});
    CHECK(mandatory.signal == SIGABRT);
    CHECK_MESSAGE(mandatory.has("there is no device: the runtime ignores the images of "), mandatory.output);
  }
}

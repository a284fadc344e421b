// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of regions as clang's programs make them, without clang: every version of the kernel arguments, and faulty
// arguments. tests/programs/openmp has the rest.
#include "llvm_calls.h"

#include <algorithm>
#include <csignal>
#include <doctest/doctest.h>

using namespace llvm_abi;

namespace {

template <typename Record> int adds_one() {
  const Library<Record> library = main_library<Record>();
  int values[4] = {1, 2, 3, 4};
  EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(4)}, 1) == 0);
  EXPECT(values[0] == 2 && values[3] == 5);
  return 0;
}

// Checks whether the kernel gets a launch environment before its arguments.
template <typename Record> int environment_of(std::uint32_t version, Wrapping wrapping, bool expected) {
  const Library<Record> library = main_library<Record>(wrapping);
  const std::vector<Element> arguments{literal(11), literal(12), literal(13), literal(14), literal(15), literal(16)};
  EXPECT(launch(&host::record, arguments, version) == 0);
  EXPECT(launch(&host::nothing, {{host::seen, host::seen, sizeof host::seen, kFrom | kAlways | kParameter}}, 1) == 0);
  EXPECT(host::seen[expected] == reinterpret_cast<void*>(11));
  EXPECT(!expected || host::seen[0] == reinterpret_cast<void*>(~std::uintptr_t{0}));
  return 0;
}

} // namespace

SCENARIO_OF(llvm_records_32) {
  return adds_one<Record32>();
}
SCENARIO_OF(llvm_records_56) {
  return adds_one<Record56>();
}
SCENARIO_OF(llvm_version_1) {
  return environment_of<Record32>(1, Wrapping::kOffloadBinary, false);
}
SCENARIO_OF(llvm_version_2_of_clang_16) {
  return environment_of<Record32>(2, Wrapping::kOffloadBinary, false);
}
SCENARIO_OF(llvm_version_2_of_clang_18) {
  return environment_of<Record32>(2, Wrapping::kRaw, true);
}
SCENARIO_OF(llvm_version_3) {
  return environment_of<Record56>(3, Wrapping::kRaw, true);
}

TEST_CASE("clang's programs of every generation run on the device") {
  for (const char* name : {"llvm_records_32", "llvm_records_56", "llvm_version_1", "llvm_version_2_of_clang_16",
                           "llvm_version_2_of_clang_18", "llvm_version_3"}) {
    const Outcome outcome = run_scenario(name, {"OMP_TARGET_OFFLOAD=MANDATORY"});
    CHECK_MESSAGE(outcome.code == 0, std::string(name) << ": " << outcome.output);
  }
}

SCENARIO_OF(llvm_unknown_version) {
  const Library<Record32> library = main_library<Record32>();
  for (std::uint32_t version : {0U, 4U})
    EXPECT(launch(&host::add_one, {}, version) != 0);
  return 0;
}

TEST_CASE("kernel arguments of an unknown version are named and not guessed at") {
  CHECK(run_scenario("llvm_unknown_version").has("runs on the host: kernel arguments of version 0 are unknown"));
  const Outcome outcome = run_scenario("llvm_unknown_version", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("kernel arguments of version 0 are unknown"));
}

SCENARIO_OF(llvm_negative_count) {
  const Library<Record56> library = main_library<Record56>();
  static long one = 1;
  void* addresses[1] = {&one};
  std::int64_t sizes[1] = {8}, types[1] = {kTofrom};
  using Begin =
      void (*)(void*, std::int64_t, std::int32_t, void**, void**, std::int64_t*, std::int64_t*, void**, void**);
  const auto begin = [&]() __attribute__((no_sanitize("undefined"))) {
    reinterpret_cast<Begin>(versioned("__tgt_target_data_begin_mapper"))(nullptr, -1, -1, addresses, addresses, sizes,
                                                                         types, nullptr, nullptr);
  };
  begin();
  return 0;
}

TEST_CASE("a negative number of arguments is named and the call is ignored") {
  const Outcome outcome = run_scenario("llvm_negative_count");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("there are -1 arguments; the call is ignored"));
}

// Environment before the arguments: the program does not set that word.
SCENARIO_OF(llvm_number_in_device_memory) {
  const Library<Record56> library = main_library<Record56>();
  void* const memory = omp_target_alloc(64, 0);
  const auto number = reinterpret_cast<std::uintptr_t>(memory);
  EXPECT(launch(&host::absent, {literal(1), literal(number + 7)}, 3) != 0);
  EXPECT(launch(&host::absent, {{memory, memory, 0, kTofrom | kParameter | kImplicit}}, 3) != 0);
  omp_target_free(memory, 0);
  return 0;
}

TEST_CASE("literals that lie in device memory are said where their regions fall back, which run") {
  const Outcome outcome = run_scenario("llvm_number_in_device_memory", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail",
                                                                        "OMPTOOL_PLUGINS=fakefail", "OMPTOOL_QUIET=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output.find("omptarget: region absent: its argument 1 may be memory of the device (0x") == 0);
  CHECK(outcome.has("omptarget: region absent: its argument 0 may be memory of the device (0x"));
  CHECK(std::count(outcome.output.begin(), outcome.output.end(), '\n') == 2);
}

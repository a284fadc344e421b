// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plugins: found by name, checked, refused with a reason: decision 11.
#include "omptool_plugins.h"
#include "support.h"

#include <csignal>
#include <cstdio>
#include <doctest/doctest.h>

namespace {

const std::string kMostFunctions = "__tgt_rtl_load_binary, __tgt_rtl_data_alloc, __tgt_rtl_data_submit, "
                                   "__tgt_rtl_data_retrieve, __tgt_rtl_data_delete, __tgt_rtl_run_target_region, "
                                   "__tgt_rtl_run_target_team_region";
const std::string kLacking = "__tgt_init_device, " + kMostFunctions;

} // namespace

SCENARIO_OF(describe) {
  const std::int32_t count = omptool_describe_plugins(
      [](void*, const char* name, const char* path, const char* state, const char* reason, std::int32_t devices) {
        std::printf("%s|%s|%s|%d|%s\n", name, state, reason ? reason : "-", devices, path);
      },
      nullptr);
  std::printf("%d\n", count);
  return 0;
}

TEST_CASE("plugins are described in name order, with their reasons") {
  Outcome outcome =
      run_scenario("describe", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakelacking:" TEST_FOLDER "/nowhere:" TEST_FOLDER
                                "/fakecount:" TEST_FOLDER "/fakenothing",
                                "OMPTOOL_PLUGINS=fakecount,fakelacking,fakenothing,host", "OMPTOOL_HOST_DEVICES=3"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output.find("OMPTOOL_PLUGIN_PATH|refused|No such file or directory|0|" TEST_FOLDER "/nowhere\n"
                            "fakecount|refused|it counts -3 devices|0|" TEST_FOLDER
                            "/fakecount/libomptarget.rtl.fakecount.so\n"
                            "fakelacking|refused|it lacks " +
                            kLacking + "|0|") == 0);
  CHECK(outcome.has("\nfakenothing|ready|-|1|"));
  CHECK(outcome.has("\nhost|ready|-|3|"));
  CHECK(outcome.has("\n4\n"));
  outcome = run_scenario("describe", {"OMPTOOL_PLUGINS=host", "OMPTOOL_HOST_DEVICES=0"});
  CHECK(outcome.output.find("host|no devices|it has no devices|0|") == 0);
}

SCENARIO_OF(list) {
  const std::int32_t count = omptool_list_plugins(
      [](void*, const char* name, const char* path) { std::printf("%s|%s\n", name, path); }, nullptr);
  std::printf("%d\n", count);
  return 0;
}

TEST_CASE("the files of plugins are listed, whatever is in them") {
  const Outcome outcome =
      run_scenario("list", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakelacking:" TEST_FOLDER "/nowhere",
                            "OMPTOOL_PLUGINS=fakelacking"});
  CHECK(outcome.code == 0);
  CHECK(outcome.output == "fakelacking|" TEST_FOLDER "/fakelacking/libomptarget.rtl.fakelacking.so\n1\n");
}

SCENARIO_OF(one_launch) {
  use_main();
  int values[2] = {1, 2};
  Rows rows{row(values, TOFROM | REF), value(2)};
  if (rows.region(&host::add_one) != 0)
    return 3;
  EXPECT(values[0] == 2);
  return 0;
}

TEST_CASE("a refused plugin is passed over, and named when nothing else is there") {
  Outcome outcome = run_scenario("one_launch", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakelacking"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  outcome =
      run_scenario("one_launch", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakelacking", "OMPTOOL_PLUGINS=fakelacking"});
  CHECK(outcome.code == 3);
  CHECK(outcome.has("region add_one runs on the host: there is no device: plugin fakelacking was refused: it lacks " +
                    kLacking + "\n"));
  outcome = run_scenario("one_launch", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakecount", "OMPTOOL_PLUGINS=fakecount"});
  CHECK(outcome.code == 3);
  CHECK(outcome.has("plugin fakecount was refused: it counts -3 devices\n"));
}

TEST_CASE("a plugin that cannot have its devices is named, and MANDATORY runs nothing beside it") {
  std::vector<std::string> environment{"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail,host",
                                       "FAKEFAIL_IN=number_of_devices", "FAKEFAIL_AT=1"};
  const Outcome outcome = run_scenario("one_launch", environment);
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("omptarget: plugin fakefail was refused: FAKE failure\n"));
  environment.push_back("OMP_TARGET_OFFLOAD=MANDATORY");
  const Outcome mandatory = run_scenario("one_launch", environment);
  CHECK(mandatory.signal == SIGABRT);
  CHECK_MESSAGE(mandatory.has("region add_one cannot run on a device, and OMP_TARGET_OFFLOAD is MANDATORY: plugin "
                              "fakefail was refused: FAKE failure\n"),
                mandatory.output);
}

SCENARIO_OF(two_launches) {
  use_main();
  for (int i = 0; i < 2; ++i)
    EXPECT(Rows{}.region(&host::nothing) == 0);
  return 0;
}

TEST_CASE("a folder that cannot be read is said once") {
  const Outcome outcome =
      run_scenario("two_launches", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/nowhere::" TEST_FOLDER "/runtime_tests"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "omptarget: OMPTOOL_PLUGIN_PATH names " TEST_FOLDER "/nowhere, which cannot be read: No such "
                          "file or directory\nomptarget: OMPTOOL_PLUGIN_PATH names " TEST_FOLDER
                          "/runtime_tests, which "
                          "cannot be read: Not a directory\n");
}

TEST_CASE("a plugin with some of the asynchronous functions is used without them, and that is said once") {
  const Outcome outcome =
      run_scenario("two_launches", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakesome", "OMPTOOL_PLUGINS=fakesome"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output ==
        "omptarget: the runtime uses the synchronous functions of plugin fakesome, which lacks some of the "
        "asynchronous ones: "
        "__tgt_rtl_enforce_dep, __tgt_rtl_release_dep, __tgt_rtl_async_data_submit, __tgt_rtl_async_data_retrieve, "
        "__tgt_rtl_async_run_target_region, __tgt_rtl_async_run_target_team_region\n");
}

TEST_CASE("values of the CPU device's variables that cannot be used are named, once") {
  const Outcome outcome = run_scenario("two_launches", {"OMPTOOL_HOST_DEVICES=257", "OMPTOOL_HOST_MEMORY=none",
                                                        "OMPTOOL_HOST_QUEUES=yes", "OMPTOOL_HOST_IN_FLIGHT=0"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  for (const char* line : {"OMPTOOL_HOST_DEVICES=257 and uses 1; known values: integers from 0 to 256\n",
                           "OMPTOOL_HOST_MEMORY=none and uses separate; known values: separate, shared\n",
                           "OMPTOOL_HOST_QUEUES=yes and uses 0; known values: 0, 1\n",
                           "OMPTOOL_HOST_IN_FLIGHT=0 and uses 64; known values: integers from 1 to 4096\n"}) {
    CAPTURE(line);
    const std::size_t first = outcome.output.find(line);
    CHECK(first != std::string::npos);
    CHECK(outcome.output.find(line, first + 1) == std::string::npos);
  }
}

// Private copies, pointers, sections, globals and counts where host memory is device memory.
SCENARIO_OF(shared_memory) {
  use_main();
  int values[4] = {1, 2, 3, 4};
  Rows data{row(values, TO | REF), {values, values, sizeof values, TO | REF | RETURN}};
  data.begin();
  EXPECT(data.base(1) == values);
  EXPECT(omp_target_is_present(values, 0) == 1);
  EXPECT(Rows({{values, nullptr, 0, REF}, value(4)}).region(&host::add_one) == 0);
  EXPECT(values[0] == 2); // at once
  EXPECT(Rows({{values, &values[2], 2 * sizeof(int), TOFROM | REF}, value(4)}).region(&host::add_one) == 0);
  EXPECT(values[0] == 3);
  EXPECT(Rows({row(values, PRIVATE | TO), value(4)}).region(&host::add_one) == 0);
  EXPECT(values[0] == 3);
  struct list {
    int before;
    int* items;
    long length;
    int after;
  } object{0, values, 4, 0};
  EXPECT(Rows({row(object, TOFROM | REF), {&object.items, values, sizeof values, TOFROM | PTR}})
             .region(&host::list_add_one) == 0);
  EXPECT(values[0] == 4);
  EXPECT(object.items == values);
  EXPECT(Rows({row(values, TOFROM | REF), value(4)}).region(&host::absent) != 0);
  data.end();
  EXPECT(values[3] == 7);
  return 0;
}

TEST_CASE("a plugin whose data functions do nothing shares the host's memory") {
  const Outcome outcome =
      run_scenario("shared_memory", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakenothing", "OMPTOOL_PLUGINS=fakenothing"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

TEST_CASE("the host plugin can share the host's memory") {
  const Outcome outcome = run_scenario("shared_memory", {"OMPTOOL_HOST_MEMORY=shared"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

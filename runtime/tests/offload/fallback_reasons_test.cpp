// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests why regions run on the host after all, what messages report of it, and kernels that a device has not started:
// decisions 1, 23 and 28.
#include "support.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>

SCENARIO_OF(say_reasons) {
  use_main();
  for (int i = 0; i < 3; ++i)
    EXPECT(Rows({}).region(&host::absent) != 0);
  EXPECT(Rows({}).region(&host::other_add_hundred) != 0);
  return 0;
}

TEST_CASE("a fallback is said once per region") {
  const Outcome outcome = run_scenario("say_reasons");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output.find("omptarget: region absent runs on the host: the image for device 0 (host) lacks it\n"
                            "omptarget: region at 0x") == 0);
  CHECK(outcome.has("runs on the host: no registered library lists it\n"));
  CHECK(run_scenario("say_reasons", {"OMPTOOL_QUIET=1"}).output == "");
}

TEST_CASE("MANDATORY ends the program with the reason") {
  const Outcome outcome = run_scenario("say_reasons", {"OMP_TARGET_OFFLOAD=mandatory", "OMPTOOL_QUIET=1"});
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.output == "omptarget fatal error: region absent cannot run on a device, and OMP_TARGET_OFFLOAD is "
                          "MANDATORY: the image for device 0 (host) lacks it\n");
}

SCENARIO_OF(all_on_host) {
  use_main();
  EXPECT(omp_get_num_devices() == 0);
  EXPECT(omp_get_initial_device() == 0);
  int values[1] = {1};
  Rows rows{row(values, TOFROM | REF), value(1)};
  rows.begin();
  EXPECT(rows.region(&host::add_one) != 0);
  EXPECT(rows.region(&host::add_one, 5) != 0);
  EXPECT(rows.region(&host::construct, -2) == 0);
  rows.end();
  EXPECT(values[0] == 1);
  return 0;
}

TEST_CASE("DISABLED runs everything on the host, silently") {
  const Outcome outcome = run_scenario("all_on_host", {"OMP_TARGET_OFFLOAD=DISABLED"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "");
}

SCENARIO_OF(one_region) {
  use_main();
  int values[1] = {1};
  EXPECT(Rows({row(values, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
  return 0;
}

TEST_CASE("a bad value of a variable is one line, and the default is used") {
  const Outcome outcome = run_scenario("one_region", {"OMP_TARGET_OFFLOAD=perhaps", "OMP_DEFAULT_DEVICE=-7",
                                                      "OMPTOOL_HOST_DEVICES=many", "OMPTOOL_HOST_MEMORY=none"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has(
      " ignores OMP_TARGET_OFFLOAD=perhaps and uses DEFAULT; known values: DEFAULT, MANDATORY, DISABLED\n"));
  CHECK(outcome.has(" ignores OMP_DEFAULT_DEVICE=-7 and uses 0; known values: integers from 0 to 2147483647\n"));
  CHECK(outcome.has(" ignores OMPTOOL_HOST_DEVICES=many and uses 1; known values: integers from 0 to 256\n"));
  CHECK(outcome.has(" ignores OMPTOOL_HOST_MEMORY=none and uses separate; known values: separate, shared\n"));
}

SCENARIO_OF(no_devices) {
  use_main();
  EXPECT(omp_get_num_devices() == 0);
  EXPECT(Rows({}).region(&host::nothing) != 0);
  return 0;
}

TEST_CASE("no device at all is a reason, too") {
  Outcome outcome = run_scenario("no_devices", {"OMPTOOL_HOST_DEVICES=0"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region nothing runs on the host: there is no device: plugin host has none\n"));
  outcome = run_scenario("no_devices", {"OMPTOOL_PLUGINS=nosuch"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("OMPTOOL_PLUGINS names nosuch, but no libomptarget.rtl.nosuch.so was found\n"));
  CHECK(outcome.has("there is no device: no plugin that OMPTOOL_PLUGINS names is in "));
}

// ---- numbers that may be addresses ----

namespace {

const std::vector<std::string> kFakefail{"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail"};

// Device memory that stays, for as long as the program runs.
void* memory_of_device() {
  static int object = 5;
  Rows data{row(object, TO | REF), {&object, &object, sizeof object, TO | REF | RETURN}};
  data.begin();
  return data.base(1);
}

} // namespace

SCENARIO_OF(number_in_device_memory) {
  use_main();
  int values[2] = {1, 2};
  const auto number = reinterpret_cast<std::uintptr_t>(memory_of_device()) + 1;
  for (int i = 0; i < 3; ++i)
    EXPECT(Rows({row(values, TOFROM | REF), value(number)}).region(&host::absent) != 0);
  EXPECT(Rows({row(values, PRIVATE), value(1), {reinterpret_cast<void*>(number), nullptr, 0, TO | REF}})
             .region(&host::other_add_hundred) != 0);
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) == 0);
  EXPECT(values[0] == 2);
  return 0;
}

SCENARIO_OF(number_in_allocation) {
  use_main();
  void* const memory = omp_target_alloc(64, 0);
  EXPECT(Rows({value(reinterpret_cast<std::uintptr_t>(memory) + 63)}).region(&host::absent) != 0);
  EXPECT(Rows({value(reinterpret_cast<std::uintptr_t>(memory) + 64)}).region(&host::other_add_hundred) != 0);
  omp_target_free(memory, 0);
  return 0;
}

TEST_CASE("a number that lies in device memory is said once where its region falls back, and runs") {
  std::vector<std::string> environment = kFakefail;
  environment.emplace_back("OMPTOOL_QUIET=1");
  Outcome outcome = run_scenario("number_in_device_memory", environment);
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  const std::string first = "omptarget: region absent: its argument 1 may be memory of the device (0x";
  CHECK(outcome.output.find(first) == 0);
  CHECK(outcome.output.find(first, 1) == std::string::npos);
  CHECK(outcome.has("), which the host cannot use\nomptarget: region at 0x"));
  CHECK(outcome.has(": its argument 2 may be memory of the device (0x"));
  outcome = run_scenario("number_in_allocation", environment);
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region absent: its argument 0 may be memory of the device (0x"));
  CHECK(!outcome.has("region at 0x"));
}

// The host can use the device's memory, but what is newer on the host does not get there.
SCENARIO_OF(number_in_stale_object) {
  use_main();
  int object[2] = {5, 6};
  Rows data{row(object, TO | REF), {object, object, sizeof object, TO | REF | RETURN}};
  data.begin();
  EXPECT(Rows({row(object, TOFROM | REF)}).region(&host::absent) != 0);
  object[0] = 7; // the host version
  EXPECT(Rows({value(reinterpret_cast<std::uintptr_t>(data.base(1)))}).region(&host::other_add_hundred) != 0);
  return 0;
}

TEST_CASE("nor does it end the program where the device does not take what is newer on the host") {
  std::vector<std::string> environment = kFakefail;
  for (const char* one : {"FAKEFAIL_ADDRESSABLE=1", "FAKEFAIL_IN=data_submit", "FAKEFAIL_ON=1", "FAKEFAIL_AT="})
    environment.emplace_back(one);
  bool said = false;
  for (int at = 1; at < 20 && !said; ++at) {
    environment.back() = "FAKEFAIL_AT=" + std::to_string(at);
    const Outcome outcome = run_scenario("number_in_stale_object", environment);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    said = outcome.has(": its argument 0 may be memory of the device (0x") &&
           outcome.has("), but the device did not take a copy of the object at 0x");
  }
  CHECK(said);
}

// ---- kernels that have certainly not begun ----

namespace {

std::vector<std::string> not_started(std::initializer_list<const char*> more) {
  std::vector<std::string> environment = kFakefail;
  environment.emplace_back("FAKEFAIL_IN=run");
  environment.emplace_back("FAKEFAIL_RESULT=2");
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

} // namespace

// Each kind of launch, alone and inside of data that another region has written.
SCENARIO_OF(kernels_not_started) {
  use_main();
  int values[2] = {1, 2}, own[2] = {3, 4}, never[2] = {5, 6};
  EXPECT(Rows({value(1)}).region(&host::record1) != 0);
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) != 0);
  EXPECT(Rows({row(own, PRIVATE | TO), value(2)}).region(&host::add_one) != 0);
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).teams(&host::add_one, 2, 2) != 0);
  EXPECT(values[0] == 1 && own[0] == 3);
  EXPECT(omp_target_is_present(values, 0) == 0);
  Rows data{row(values, TOFROM | REF), row(never, FROM | REF)};
  data.begin();
  EXPECT(Rows({row(values, REF), row(never, REF)}).region(&host::add_one) != 0);
  EXPECT(values[0] == 1);
  EXPECT(never[0] == 5 && never[1] == 6); // the device has nothing to give
  values[0] = 10;                         // the host version
  data.end();
  EXPECT(values[0] == 10);
  std::puts("done");
  return 0;
}

TEST_CASE("a kernel that the plugin has not started is the host's turn") {
  Outcome outcome = run_scenario("kernels_not_started", not_started({"FAKEFAIL_AT=1", "FAKEFAIL_ON=1"}));
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("done\n"));
  CHECK(outcome.has(
      "omptarget: region add_one runs on the host: device 0 (fakefail) did not start the kernel (FAKE failure)\n"));
  CHECK(!outcome.has("FAKE: 0x")); // left, or freed twice
  outcome = run_scenario("kernels_not_started", not_started({"FAKEFAIL_AT=1", "OMP_TARGET_OFFLOAD=MANDATORY"}));
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("MANDATORY: device 0 (fakefail) did not start the kernel (FAKE failure)\n"));
}

SCENARIO_OF(one_of_three_not_started) {
  use_main();
  int values[4] = {0, 0, 0, 0}, later[1] = {7};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  EXPECT(Rows({row(values, TOFROM | REF), value(4)}).region(&host::add_one) == 0);
  Rows more{row(later, FROM | REF)};
  more.begin();
  EXPECT(Rows({row(values, REF), row(later, REF)}).region(&host::add_one) != 0);
  EXPECT(values[0] == 1 && later[0] == 7);
  values[0] = 2; // the host version
  EXPECT(Rows({row(values, TOFROM | REF), value(4)}).region(&host::add_one) == 0);
  more.end();
  data.end();
  EXPECT(values[0] == 3);
  return 0;
}

TEST_CASE("between two regions that run, the host gets what the device has, and of new memory nothing") {
  const Outcome outcome = run_scenario("one_of_three_not_started", not_started({"FAKEFAIL_AT=2"}));
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(far_too_many_arguments) {
  use_main();
  std::vector<void*> base(40000);
  std::vector<std::int64_t> size(base.size());
  std::vector<std::int32_t> type(base.size(), VALUE);
  EXPECT(__tgt_target(-1, &host::nothing, static_cast<std::int32_t>(base.size()), base.data(), base.data(), size.data(),
                      type.data()) != 0);
  return 0;
}

TEST_CASE("the CPU device starts no kernel with more arguments than a stack holds") {
  const Outcome outcome = run_scenario("far_too_many_arguments");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output ==
        "omptarget: region nothing runs on the host: device 0 (host) did not start the kernel (a kernel with "
        "40000 arguments)\n");
}

static Rows* ended_meanwhile;
extern "C" __attribute__((visibility("default"))) void test_call_fails() {
  ended_meanwhile->end();
}

SCENARIO_OF(ended_while_not_started) {
  use_main();
  int values[2] = {0, 0}, own[1] = {1}, fresh[1] = {7};
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  EXPECT(Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) == 0);
  ended_meanwhile = &data;
  Rows plain{row(values, TOFROM | REF), row(fresh, FROM | REF)};
  Rows others{row(values, TOFROM | REF), row(own, PRIVATE), row(fresh, FROM | REF), row(fresh, FROM)};
  EXPECT((std::getenv("TEST_PLAIN") ? plain : others).region(&host::nothing) != 0);
  EXPECT(omp_target_is_present(values, 0) == 0);
  EXPECT(values[0] == 1);
  EXPECT(fresh[0] == 7);
  return 0;
}

TEST_CASE("what another construct leaves to a region that falls back is brought to the host") {
  for (const char* way : {"TEST_PLAIN=1", "TEST_OTHERS=1"}) {
    const Outcome outcome =
        run_scenario("ended_while_not_started", not_started({"FAKEFAIL_AT=2", "FAKEFAIL_HOOK=1", way}));
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
  }
}

SCENARIO_OF(negative_shapes) {
  use_main();
  for (const std::int32_t number : {-1, -2147483647 - 1})
    EXPECT(Rows{}.teams(&host::nothing, number, number) == 0);
  EXPECT(Rows{}.teams(&host::nothing, 3, -5) == 0);
  return 0;
}

TEST_CASE("negative numbers of teams and threads leave the choice to the device") {
  std::vector<std::string> environment = kFakefail;
  environment.emplace_back("FAKEFAIL_TELL=1");
  const Outcome outcome = run_scenario("negative_shapes", environment);
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "FAKE: run teams 0 threads 0\nFAKE: run teams 0 threads 0\nFAKE: run teams 3 threads 0\n");
}

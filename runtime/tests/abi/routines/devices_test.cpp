// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests devices before any library has registered (decision 36), and their descriptions.
#include "omptool_plugins.h"
#include "support.h"

#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
void __tgt_rtl_init();
void __tgt_rtl_deinit();
void __tgt_init_all_rtls();
int __tgt_print_device_info(std::int64_t device_num);
int __tgt_get_device_info(std::int32_t device_num, void (*take)(const char* text, std::size_t size));
const char* omp_get_uid_from_device(int number);
}

namespace {

// Mark at the end of images for the fake. An image without it belongs to the host plugin.
constexpr char kMark[] = "for a fake";

std::vector<std::string> beside_host(const std::string& fake) {
  return {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/" + fake, "OMPTOOL_PLUGINS=" + fake + ",host",
          std::string("FAKE_IMAGES=") + kMark};
}

void print_uids() {
  for (int device = 0; device < omp_get_num_devices(); ++device)
    std::printf("%s ", omp_get_uid_from_device(device));
  std::printf("\n");
  std::fflush(stdout);
}

bool runs_on(int device) {
  int value[1] = {1};
  return Rows{row(value, TOFROM | REF), {reinterpret_cast<void*>(1), nullptr, 0, VALUE}}.region(&host::add_one,
                                                                                                device) == 0 &&
         value[0] == 2;
}

void print_text(const char* text, std::size_t size) {
  std::fwrite(text, 1, size, stdout);
}

} // namespace

// ---- numbers ----

SCENARIO_OF(all_before_any_library) {
  __tgt_rtl_init();
  EXPECT(omp_get_num_devices() == 0);
  __tgt_init_all_rtls();
  print_uids();
  EXPECT(omp_get_initial_device() == omp_get_num_devices());
  int object = 0;
  Rows{row(object, TO | REF)}.begin(1);
  EXPECT(omp_target_is_present(&object, 1) == 1);
  Rows{row(object, REF)}.end(1);
  EXPECT(!runs_on(1)); // nobody has registered the kernel
  __tgt_init_all_rtls();
  use_main(); // for the host plugin, whose devices have numbers
  print_uids();
  EXPECT(!runs_on(0));
  EXPECT(runs_on(1));
  __tgt_rtl_deinit();
  EXPECT(runs_on(1));
  return 0;
}

TEST_CASE("every plugin's devices get numbers, in the order of plugins, which later libraries use") {
  const Outcome outcome = run_scenario("all_before_any_library", beside_host("fakesync"));
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("fakesync-0 host-0 \nomptarget: region at 0x"));
  CHECK(outcome.has("no registered library lists it\nfakesync-0 host-0 \n"));
}

SCENARIO_OF(all_after_a_library) {
  use_main();
  print_uids();
  __tgt_init_all_rtls();
  print_uids();
  EXPECT(runs_on(0));
  EXPECT(!runs_on(1));
  return 0;
}

TEST_CASE("devices that have numbers keep them when all get one") {
  const Outcome outcome = run_scenario("all_after_a_library", beside_host("fakesync"));
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("host-0 \nhost-0 fakesync-0 \n"));
}

SCENARIO_OF(all_of_broken_plugin) {
  __tgt_init_all_rtls();
  print_uids();
  use_main();
  print_uids();
  EXPECT(runs_on(0));
  return 0;
}

TEST_CASE("a plugin that is refused or has no devices gets no number") {
  for (const char* fake : {"fakecount", "fakelacking"}) {
    const Outcome outcome = run_scenario("all_of_broken_plugin", beside_host(fake));
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == "host-0 \nhost-0 \n");
  }
}

SCENARIO_OF(all_and_fork) {
  __tgt_init_all_rtls();
  EXPECT(omp_get_num_devices() == 2);
  const pid_t child = ::fork();
  if (child == 0) {
    use_main();
    print_uids();
    ::_exit(runs_on(1) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_CASE("a child that registers anew counts devices as its parent does") {
  const Outcome outcome = run_scenario("all_and_fork", beside_host("fakesync"));
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "fakesync-0 host-0 \n");
}

SCENARIO_OF(all_disabled) {
  __tgt_init_all_rtls();
  EXPECT(omp_get_num_devices() == 0);
  EXPECT(__tgt_get_device_info(0, print_text) == 0);
  return 0;
}

TEST_CASE("under OMP_TARGET_OFFLOAD=DISABLED there are no devices") {
  const Outcome outcome = run_scenario("all_disabled", {"OMP_TARGET_OFFLOAD=DISABLED"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

// ---- what they are ----

SCENARIO_OF(device_info) {
  __tgt_init_all_rtls();
  EXPECT(__tgt_get_device_info(0, print_text) == 1);
  EXPECT(__tgt_print_device_info(0) == 1);
  EXPECT(__tgt_print_device_info(77) == 0);
  EXPECT(__tgt_print_device_info(std::int64_t{1} << 32) == 0);
  for (const int none : {-2, -1, 1, 77})
    EXPECT(__tgt_get_device_info(none, print_text) == 0);
  EXPECT(__tgt_get_device_info(0, nullptr) == 0);
  const std::int32_t count = omptool_describe_devices(
      [](void*, const char* plugin, std::int32_t device, const tgt_device_description* said) {
        std::printf("%s %d|%s|%s|%llu|%u|%s|%s\n", plugin, device, said->name, said->architecture,
                    static_cast<unsigned long long>(said->memory), said->units, said->driver, said->images);
      },
      nullptr);
  std::printf("%d\n", count);
  return 0;
}

TEST_CASE("a device is described as its plugin says, and by its number where that says nothing") {
  const auto run_on = [](const std::string& plugin) {
    return run_scenario("device_info", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/" + plugin, "OMPTOOL_PLUGINS=" + plugin});
  };
  Outcome outcome = run_on("fakewhole");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  const std::string lines = "    Driver Version                 Fakes 3\n"
                            "    Device Name                    Fake 0\n"
                            "    Global Memory Size             3221225472 bytes\n"
                            "    Number of Multiprocessors      7\n"
                            "    Max Shared Memory per Block    49152 bytes\n"
                            "    Maximum Threads per Block      1024\n"
                            "    Compute Capabilities           fake_64\n"
                            "    UID                            fakewhole-0\n";
  CHECK(outcome.output == lines + lines + "fakewhole 0|Fake 0|fake_64|3221225472|7|Fakes 3|FAKE\n1\n");
  outcome = run_on("fakeasking");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("    UID    fakeasking-0\n"));
  outcome = run_on("host");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("    Device Type                  Generic-elf-64bit\n    Device Name  "));
}

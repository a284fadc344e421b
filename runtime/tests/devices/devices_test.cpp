// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device numbers and libraries: decision 12.
#include "support.h"

#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>

extern "C" const char* omp_get_uid_from_device(int number);

namespace {

Row bits(long number) {
  return value(static_cast<std::uintptr_t>(number));
}

} // namespace

SCENARIO_OF(two_devices) {
  use_main();
  EXPECT(omp_get_num_devices() == 2);
  EXPECT(omp_get_initial_device() == 2);
  EXPECT(omp_is_initial_device() == 1);
  EXPECT(omp_get_default_device() == 1); // OMP_DEFAULT_DEVICE
  int values[1] = {1};
  Rows rows{row(values, TOFROM | REF), value(1)};
  rows.begin(0);
  EXPECT(omp_target_is_present(values, 0) == 1);
  EXPECT(omp_target_is_present(values, 1) == 0);
  EXPECT(rows.region(&host::add_one) == 0); // on the default device, 1
  EXPECT(values[0] == 2);
  omp_set_default_device(0);
  EXPECT(omp_get_default_device() == 0);
  EXPECT(rows.region(&host::add_one) == 0); // present there, from before
  EXPECT(values[0] == 2);
  rows.end(0);
  EXPECT(values[0] == 2); // what device 0 had, 1, plus one
  // Each device has variables of its own.
  EXPECT(Rows({}).region(&host::count_up, 0) == 0);
  EXPECT(Rows({}).region(&host::count_up, 0) == 0);
  EXPECT(Rows({}).region(&host::count_up, 1) == 0);
  Rows{row(host::counter, FROM)}.update(0);
  EXPECT(host::counter == 7);
  Rows{row(host::counter, FROM)}.update(1);
  EXPECT(host::counter == 6);
  int marks[1] = {}, shape[3] = {};
  EXPECT(Rows({row(marks, TOFROM | REF), row(shape, FROM | REF)}).region(&host::team_square, 1) == 0);
  EXPECT(shape[2] == 1);
  return 0;
}

TEST_CASE("two devices have memory and variables of their own") {
  const Outcome outcome = run_scenario("two_devices", {"OMPTOOL_HOST_DEVICES=2", "OMP_DEFAULT_DEVICE=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "");
}

SCENARIO_OF(numbers_out_of_range) {
  use_main();
  EXPECT(Rows{}.region(&host::nothing, 1) != 0); // the initial device
  EXPECT(Rows{}.region(&host::nothing, 2) != 0);
  EXPECT(Rows{}.region(&host::nothing, 2) != 0);
  EXPECT(Rows{}.region(&host::add_one, -4) != 0);
  int object = 0;
  Rows{row(object, TO | REF)}.begin(17);
  EXPECT(Rows{}.region(&host::nothing, 0) == 0);
  return 0;
}

TEST_CASE("a number beyond the devices is said once per region, the host's own number is not") {
  const Outcome outcome = run_scenario("numbers_out_of_range");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "omptarget: region nothing runs on the host: device number 2 is out of range: there is 1 "
                          "device\n"
                          "omptarget: region add_one runs on the host: device number -4 is out of range: there is 1 "
                          "device\n"
                          "omptarget: repeated 1 time: region nothing runs on the host: device number 2 is out of "
                          "range: there is 1 device\n");
}

SCENARIO_OF(nothing_registered) {
  EXPECT(omp_get_num_devices() == 0);
  EXPECT(omp_get_initial_device() == 0);
  EXPECT(Rows{}.region(&host::nothing) != 0);
  EXPECT(omp_target_alloc(8, 3) == nullptr);
  void* memory = omp_target_alloc(8, 0); // the host
  EXPECT(memory != nullptr);
  omp_target_free(memory, 0);
  return 0;
}

TEST_CASE("without images there are no devices") {
  const Outcome outcome = run_scenario("nothing_registered");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("runs on the host: no library has registered images"));
}

SCENARIO_OF(two_libraries) {
  use_main();
  // Entries of another library, with the same variable and a kernel of the first that its image lacks.
  std::vector<Program::Entry> entries{{&host::counter, "counter", sizeof host::counter},
                                      {&host::other_add_hundred, "other_add_hundred"},
                                      {&host::add_one, "add_one"}};
  int number = 1;
  {
    Program other({image_file("other")}, entries);
    EXPECT(omp_get_num_devices() == 1); // the plugin has its numbers already
    Rows one{row(number, TOFROM | REF), value(1)};
    EXPECT(one.region(&host::other_add_hundred) == 0);
    EXPECT(number == 101);
    EXPECT(one.region(&host::add_one) == 0); // the first library's image has it
    EXPECT(number == 102);
    // Counter on the device: one host variable has one device variable, the first that was mapped.
    Rows{row(host::counter, FROM)}.update();
    EXPECT(host::counter == 5);
  }
  Rows one{row(number, TOFROM | REF), value(1)};
  EXPECT(one.region(&host::other_add_hundred) != 0);
  EXPECT(one.region(&host::add_one) == 0);
  EXPECT(number == 103);
  EXPECT(omp_target_is_present(&host::counter, 0) == 1); // the first library still has it
  EXPECT(Rows({}).region(&host::count_up) == 0);
  Rows{row(host::counter, FROM)}.update();
  EXPECT(host::counter == 6);
  return 0;
}

TEST_CASE("several libraries share a device, a table's addresses and a variable") {
  const Outcome outcome = run_scenario("two_libraries");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

// ---- several plugins accept an image: decision 34 ----

SCENARIO_OF(owners) {
  use_main();
  std::printf("%d:", omp_get_num_devices());
  for (int number = 0; number < omp_get_num_devices(); ++number) {
    int value = 1;
    EXPECT(Rows({row(value, TOFROM | REF), bits(1)}).region(&host::add_one, number) == 0);
    EXPECT(value == 2);
    std::printf(" %s", omp_get_uid_from_device(number));
  }
  // Other library, registered later: it adds no device number.
  Program other({image_file("other")}, {{&host::other_add_hundred, "other_add_hundred"}});
  std::printf(" and %d\n", omp_get_num_devices());
  return 0;
}

TEST_CASE("all plugins that accept an image give their devices, in name order or that of OMPTOOL_PLUGINS") {
  const std::string fakes = "OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakesync", two = "OMPTOOL_HOST_DEVICES=2";
  const struct {
    std::vector<std::string> environment;
    const char* numbers;
  } kCases[] = {
      {{fakes}, "2: fakesync-0 host-0 and 2\n"},
      {{fakes, two}, "4: fakesync-0 fakesync-1 host-0 host-1 and 4\n"},
      {{fakes, "OMPTOOL_PLUGINS=host,fakesync"}, "2: host-0 fakesync-0 and 2\n"},
      {{fakes, two, "OMPTOOL_PLUGINS=host,fakesync,host"}, "4: host-0 host-1 fakesync-0 fakesync-1 and 4\n"},
      {{fakes, "OMPTOOL_PLUGINS=fakesync"}, "1: fakesync-0 and 1\n"},
  };
  for (const auto& [environment, numbers] : kCases) {
    const Outcome outcome = run_scenario("owners", environment);
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.output == numbers);
  }
}

SCENARIO_OF(owners_of_images) {
  std::vector<char> marked = image_file("main");
  marked.insert(marked.end(), {'*', '*'});
  Program program({image_file("other"), marked},
                  {{&host::other_add_hundred, "other_add_hundred"}, {&host::add_one, "add_one"}});
  for (int number = 0; number < omp_get_num_devices(); ++number)
    std::printf("%s ", omp_get_uid_from_device(number));
  for (int number = 0; number < omp_get_num_devices(); ++number) {
    int value = 1;
    Rows rows{row(value, TOFROM | REF), bits(1)};
    EXPECT(rows.region(&host::add_one, number) == 0);
    const bool runs = rows.region(&host::other_add_hundred, number) == 0;
    std::printf("%d%c", value, runs ? ' ' : '\n');
  }
  return 0;
}

TEST_CASE("devices are numbered image by image: a plugin that takes only the second comes second") {
  const Outcome outcome = run_scenario(
      "owners_of_images", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakesync", "FAKE_IMAGES=**", "OMPTOOL_QUIET=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "host-0 fakesync-0 102 2\n");
}

SCENARIO_OF(owner_that_cannot_load) {
  use_main();
  int value = 1;
  Rows rows{row(value, TOFROM | REF), bits(1)};
  EXPECT(rows.region(&host::add_one, 1) != 0);
  EXPECT(rows.region(&host::add_one, 0) == 0);
  EXPECT(value == 2);
  return 0;
}

TEST_CASE("a device that does not load an image which its plugin accepts says why, and others run it") {
  const Outcome outcome = run_scenario("owner_that_cannot_load",
                                       {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=host,fakefail",
                                        "FAKEFAIL_IN=load_binary", "FAKEFAIL_AT=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("omptarget: region add_one runs on the host: its image could not be loaded on device 1 "
                    "(fakefail)"));
}

SCENARIO_OF(owners_without_devices) {
  use_main();
  EXPECT(omp_get_num_devices() == 0);
  EXPECT(Rows{}.region(&host::nothing) != 0);
  return 0;
}

TEST_CASE("where no plugin that accepts an image has a device, a line names each") {
  const Outcome outcome = run_scenario("owners_without_devices",
                                       {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakesync", "OMPTOOL_HOST_DEVICES=0"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("runs on the host: there is no device: plugin fakesync has none, plugin host has none"));
}

SCENARIO_OF(register_again) {
  int number = 0;
  for (int round = 0; round < 5; ++round) {
    Program program({image_file("main")}, main_entries());
    int counter = 0;
    EXPECT(Rows({row(number, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
    EXPECT(Rows({row(counter, TOFROM | REF)}).region(&host::add_counter) == 0);
    EXPECT(counter == 5); // a fresh image each time
    EXPECT(Rows({}).region(&host::count_up) == 0);
    EXPECT(omp_get_num_devices() == 1);
  }
  EXPECT(number == 5);
  EXPECT(omp_target_is_present(&host::counter, 0) == 0);
  EXPECT(Rows({row(number, TOFROM | REF), value(1)}).region(&host::add_one) != 0);
  return 0;
}

TEST_CASE("a library can go and come back") {
  const Outcome outcome = run_scenario("register_again");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(malformed_descriptors) {
  __tgt_register_lib(nullptr);
  __tgt_unregister_lib(nullptr);
  __tgt_offload_entry entries[2]{};
  char image[4] = "abc";
  __tgt_device_image images[1]{{image + 3, image, entries, entries + 1}};
  __tgt_bin_desc odd{0, nullptr, entries,
                     reinterpret_cast<__tgt_offload_entry*>(reinterpret_cast<char*>(entries) + 20)};
  __tgt_bin_desc backward{0, nullptr, entries + 1, entries};
  __tgt_bin_desc empty{1, nullptr, entries, entries + 1};
  __tgt_bin_desc huge{0xffffffff, images, entries, entries + 1};
  __tgt_bin_desc reversed{1, images, entries, entries + 1};
  __tgt_device_image short_images[1]{{image, image + 3, entries, entries + 1}};
  __tgt_bin_desc text{1, short_images, entries, entries + 1};
  __tgt_bin_desc nothing{0, nullptr, nullptr, nullptr};
  for (__tgt_bin_desc* one : {&odd, &backward, &empty, &huge, &reversed, &text, &nothing})
    __tgt_register_lib(one);
  EXPECT(omp_get_num_devices() == 0);
  for (__tgt_bin_desc* one : {&odd, &backward, &empty, &huge, &reversed, &text, &nothing})
    __tgt_unregister_lib(one);
  return 0;
}

TEST_CASE("malformed descriptors are named and ignored") {
  const Outcome outcome = run_scenario("malformed_descriptors");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has(": its entry table does not end where an entry ends"));
  CHECK(outcome.has(": it counts 1 image, but has no list of them"));
  CHECK(outcome.has(": it counts 4294967295 images; 65536 are the most"));
  CHECK(outcome.has(": image 0 ends before it begins"));
}

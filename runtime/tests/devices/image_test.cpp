// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images that lack something, call the runtime, or are broken.
#include "support.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

SCENARIO_OF(lacking_image) {
  static int devices_at_load = 0;
  Program program({image_file("lacking")}, {{&host::add_one, "add_one"},
                                            {&host::add_ten, "add_ten"},
                                            {&devices_at_load, "devices_at_load", sizeof devices_at_load}});
  int values[2] = {0, 0};
  const auto add = [&](void* kernel, int amount) {
    Rows rows{row(values, TOFROM | REF), value(2)};
    if (rows.region(kernel) != 0)
      for (int& one : values)
        one += amount;
  };
  Rows data{row(values, TOFROM | REF)};
  data.begin();
  add(&host::add_ten, 10);
  add(&host::add_one, 1);
  add(&host::add_ten, 10);
  EXPECT(values[0] == 11); // the device has 21
  data.end();
  EXPECT(values[0] == 21);
  EXPECT(values[1] == 21);
  Rows{row(devices_at_load, FROM)}.update();
  EXPECT(devices_at_load == 1); // the image's constructor could ask
  return 0;
}

TEST_CASE("an image that lacks a kernel runs the others; its constructors may use the runtime") {
  const Outcome outcome = run_scenario("lacking_image");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "omptarget: region add_one runs on the host: the image for device 0 (host) lacks it\n");
}

// Exported, so that the image could find these in the program.
extern "C" {
__attribute__((visibility("default"))) int same_variable = 2;
__attribute__((visibility("default"))) int same_function() {
  return 20;
}
}

TEST_CASE("what an image defines is its own, whatever the program has under that name") {
  static char kernel;
  Program program({image_file("own")}, {{&kernel, "use_same"}});
  int seen = 0;
  CHECK(Rows({row(seen, FROM | REF)}).region(&kernel) == 0);
  CHECK(seen == 11);
  CHECK(same_variable == 2);
  CHECK(Rows({row(seen, FROM | REF)}).region(&kernel) == 0);
  CHECK(seen == 15);
}

SCENARIO_OF(two_images) {
  // Program of one library with two images for one device: each has a kernel that the other lacks.
  Program program({image_file("lacking"), {'t', 'e', 'x', 't'}, image_file("main")},
                  {{&host::add_one, "add_one"}, {&host::add_ten, "add_ten"}});
  int values[1] = {0};
  EXPECT(Rows({row(values, TOFROM | REF), value(1)}).region(&host::add_ten) == 0);
  EXPECT(Rows({row(values, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
  EXPECT(values[0] == 11);
  EXPECT(omp_get_num_devices() == 1);
  return 0;
}

TEST_CASE("any image of a library can have the kernel") {
  const Outcome outcome = run_scenario("two_images");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(other_size) {
  static long counter = 0; // an int in the image
  Program program({image_file("main")}, {{&counter, "counter", sizeof counter}, {&host::add_one, "add_one"}});
  EXPECT(Rows({}).region(&host::add_one) != 0);
  return 0;
}

TEST_CASE("a variable of another size refuses the image") {
  const Outcome outcome = run_scenario("other_size");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("its image could not be loaded on device 0 (host) (global counter has 8 bytes on the host and 4 in "
                    "the image)"));
}

SCENARIO_OF(names_of_the_c_library) {
  static char printf_address;
  // Program whose image needs libc, which has such a function: it is not the image's.
  Program program({image_file("main")}, {{&printf_address, "printf"}, {&host::add_one, nullptr}, {nullptr, "add_one"}});
  EXPECT(Rows({}).region(&printf_address) != 0);
  EXPECT(Rows({}).region(&host::add_one) != 0);
  return 0;
}

TEST_CASE("names of the libraries that an image needs are not its kernels") {
  const Outcome outcome = run_scenario("names_of_the_c_library");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region printf runs on the host: the image for device 0 (host) lacks it"));
}

SCENARIO_OF(broken_image) {
  std::vector<char> image = image_file("main");
  const std::size_t keep = static_cast<std::size_t>(std::atol(std::getenv("TEST_KEEP")));
  image.resize(std::min(keep, image.size()));
  Program program({image}, {{&host::add_one, "add_one"}});
  int values[1] = {0};
  if (Rows({row(values, TOFROM | REF), value(1)}).region(&host::add_one) != 0)
    ++values[0];
  EXPECT(values[0] == 1);
  return 0;
}

TEST_CASE("truncated images end on the host with a reason") {
  const std::size_t whole = image_file("main").size();
  for (const std::size_t keep : {std::size_t{0}, std::size_t{10}, std::size_t{64}, std::size_t{500}, whole / 2}) {
    const Outcome outcome = run_scenario("broken_image", {"OMPTOOL_PLUGINS=host", "TEST_KEEP=" + std::to_string(keep)});
    INFO("of " << whole << " bytes, " << keep << ": " << outcome.output);
    CHECK(outcome.code == 0);
    CHECK(outcome.has("region add_one runs on the host: there is no device: no plugin (host) accepts an image"));
  }
}

SCENARIO_OF(closes_all) {
  std::vector<int> own;
  {
    Program program({image_file("main")}, {{&host::add_one, "add_one"}});
    int values[1] = {0};
    EXPECT(Rows({row(values, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
    ::closefrom(3); // as daemons do
    while (own.empty() || own.back() < 1000)
      own.push_back(::open("/dev/null", O_RDONLY));
    EXPECT(Rows({row(values, TOFROM | REF), value(1)}).region(&host::add_one) == 0);
    EXPECT(values[0] == 2);
  }
  for (const int one : own)
    EXPECT(::fcntl(one, F_GETFD) >= 0);
  return 0;
}

TEST_CASE("the descriptor of an image that the program closed is the program's") {
  const Outcome outcome = run_scenario("closes_all");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

// Returns whether one file is a copy of the other, except an entry of the dynamic section (own_definitions_first).
bool is_copy(const std::vector<char>& copy, const std::vector<char>& image) {
  if (copy.size() != image.size())
    return false;
  const auto first = std::mismatch(copy.begin(), copy.end(), image.begin()).first;
  const auto last = std::mismatch(copy.rbegin(), copy.rend(), image.rbegin()).first.base();
  return last - first <= 16;
}

TEST_CASE("OMPTOOL_KEEP_IMAGES leaves copies") {
  char folder[] = "/tmp/omptool-test-XXXXXX";
  REQUIRE(::mkdtemp(folder));
  Outcome outcome = run_scenario("two_images", {std::string("OMPTOOL_KEEP_IMAGES=") + folder});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  int copies = 0;
  DIR* open = ::opendir(folder);
  while (const dirent* file = ::readdir(open))
    if (file->d_name[0] != '.') {
      const std::string path = std::string(folder) + "/" + file->d_name;
      const std::vector<char> copy = read_file(path);
      CHECK((is_copy(copy, image_file("main")) || is_copy(copy, image_file("lacking"))));
      ++copies;
      ::unlink(path.c_str());
    }
  ::closedir(open);
  ::rmdir(folder);
  CHECK(copies == 2);
  outcome = run_scenario("two_images", {std::string("OMPTOOL_KEEP_IMAGES=") + folder});
  CHECK(outcome.code == 0);
  CHECK(outcome.has("omptarget: the runtime keeps no images (OMPTOOL_KEEP_IMAGES): "));
}

TEST_CASE("OMPTOOL_KEEP_IMAGES names no folder that others may write to") {
  char folder[] = "/tmp/omptool-test-XXXXXX";
  REQUIRE(::mkdtemp(folder));
  for (const mode_t mode : {0770U, 0707U, 01777U}) {
    REQUIRE(::chmod(folder, mode) == 0);
    const Outcome outcome = run_scenario("two_images", {std::string("OMPTOOL_KEEP_IMAGES=") + folder});
    CHECK(outcome.code == 0);
    const std::string reason = std::string("others may write to the folder ") + folder;
    CHECK(outcome.output == "omptarget: the runtime keeps no images (OMPTOOL_KEEP_IMAGES): " + reason + "\n");
  }
  CHECK(::rmdir(folder) == 0); // no image was left there
}

// ---- tables of entries: decision 26 ----

// A kernel, a variable and what the image lacks, between others.
SCENARIO_OF(pairing) {
  static const Program program({image_file("main")}, {{&host::add_one, "add_one"},
                                                      {&host::counter, "counter", sizeof host::counter},
                                                      {&host::absent, "absent"},
                                                      {&host::count_up, "count_up"},
                                                      {&host::nothing, "nothing"}});
  int values[2] = {1, 2};
  if (Rows({row(values, TOFROM | REF), value(2)}).region(&host::add_one) != 0)
    return 3;
  EXPECT(values[0] == 2 && values[1] == 3);
  EXPECT(Rows{}.region(&host::count_up) == 0);
  Rows{row(host::counter, FROM)}.update();
  EXPECT(host::counter == 6);
  EXPECT(Rows{}.region(&host::absent) != 0);
  EXPECT(Rows{}.region(&host::nothing) == 0);
  return 0;
}

TEST_CASE("a plugin's table pairs by name where it has names, and by position where it has none") {
  const auto with = [](const std::string& table) {
    return run_scenario("pairing", {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail",
                                    "FAKEFAIL_TABLE=" + table});
  };
  for (const char* table : {"", "reversed", "short", "long", "same", "reversed short long", "unnamed"}) {
    const Outcome outcome = with(table);
    CAPTURE(std::string(table));
    CHECK_MESSAGE(outcome.code == 0, outcome.output);
    CHECK(outcome.has("region absent runs on the host: the image for device 0 (fakefail) lacks it"));
  }
  const auto refused = [&](const char* table, const std::string& why) {
    const Outcome outcome = with(table);
    CHECK_MESSAGE(outcome.code == 3, outcome.output);
    CHECK_MESSAGE(
        outcome.has("region add_one runs on the host: its image could not be loaded on device 0 (fakefail) (" + why +
                    ")\n"),
        outcome.output);
  };
  refused("doubled", "its entry table lists add_one twice");
  refused("sized", "add_one has 0 bytes on the host and 1 in its entry table");
  refused("short unnamed", "its entry table has 4 entries, the host's has 5");
  refused("odd", "its entry table does not end where an entry ends");
}

TEST_CASE("teams whose threads wait for each other run with as many as there may be, and else on the host") {
  static char turn_round, add_ten;
  Program program({image_file("teams")}, {{&turn_round, "turn_round"}, {&add_ten, "add_ten"}});
  constexpr int kTeams = 9, kThreads = 1000;
  static int numbers[kTeams * kThreads], out[kTeams * kThreads];
  for (int i = 0; i < kTeams * kThreads; ++i)
    numbers[i] = 3 * i;
  const auto turn = [&](int teams, int threads) {
    return Rows({row(numbers, TO | REF), row(out, FROM | REF)}).teams(&turn_round, teams, threads);
  };
  CHECK(turn(kTeams, kThreads) == 0);
  int wrong = 0;
  for (int i = 0; i < kTeams * kThreads; ++i)
    wrong += out[i] != 3 * (i / kThreads * kThreads + kThreads - 1 - i % kThreads);
  CHECK(wrong == 0);
  CHECK(turn(1, 1025) != 0); // not started
  CHECK(turn(2, 1) == 0);
  CHECK(out[1] == 3);
  int value = 1;
  CHECK(Rows({row(value, TOFROM | REF)}).region(&add_ten) == 0);
  CHECK(value == 11);
}

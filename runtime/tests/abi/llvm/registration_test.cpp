// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of libraries as clang's programs do it: damaged descriptors, requirements, constructors of images.
#include "llvm_calls.h"

#include <csignal>
#include <dlfcn.h>
#include <doctest/doctest.h>

using namespace llvm_abi;

SCENARIO_OF(llvm_missing_global) {
  static char variable[8];
  std::vector<Program::Entry> entries = main_entries();
  entries.push_back({&variable, "no_such_global", sizeof variable});
  const Library<Record32> library(image_file("main"), entries);
  int values[1] = {1};
  EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(1)}, 1) != 0);
  return 0;
}

TEST_CASE("an image that lacks a global variable is not used") {
  const Outcome outcome = run_scenario("llvm_missing_global");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("it lacks the global variable no_such_global"));
}

SCENARIO_OF(llvm_damaged) {
  char bytes[100] = {0x10, '\xff', 0x10, '\xad', 1};
  __tgt_device_image image{bytes, bytes + sizeof bytes, nullptr, nullptr};
  struct {
    std::int32_t images;
    __tgt_device_image* image;
    void *first, *last;
  } wrapped{1, &image, nullptr, nullptr}, uneven{0, nullptr, bytes, bytes + 33},
      negative{-1, nullptr, nullptr, nullptr};
  register_library(&wrapped);
  register_library(&uneven);
  register_library(&negative);
  EXPECT(omp_get_num_devices() == 0);
  unregister_library(&wrapped);
  unregister_library(&uneven);
  unregister_library(&negative);
  return 0;
}

TEST_CASE("damaged descriptors are ignored and named") {
  const Outcome outcome = run_scenario("llvm_damaged");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("an image's OffloadBinary is damaged"));
  CHECK(outcome.has("its entry table does not end where an entry ends"));
  CHECK(outcome.has("it counts -1 images; 65536 are the most"));
}

__attribute__((no_sanitize("undefined"))) static void require(std::int64_t mask) {
  reinterpret_cast<void (*)(std::int64_t)>(versioned("__tgt_register_requires"))(mask);
}

SCENARIO_OF(llvm_requires) {
  require(8);
  require(8);
  require(1);
  return 0;
}

TEST_CASE("requirements that contradict each other end the program") {
  const Outcome outcome = run_scenario("llvm_requires");
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("omptarget fatal error 2: '#pragma omp requires unified_shared_memory' not used consistently!"));
  CHECK(outcome.has("! The clause is absent in the program, and present in the code that registered before\n"));
}

// Passes by: registers a library without images, with requirements, and unregisters it before a device is needed.
template <typename Record> static void pass_by(std::initializer_list<std::uint32_t> masks, std::uint16_t version) {
  std::vector<Record> records;
  for (const std::uint32_t mask : masks) {
    Record record{};
    if constexpr (sizeof record == sizeof(Record56))
      record.version = version;
    record.flags = 0x10;
    record.name = "";
    record.data = mask;
    records.push_back(record);
  }
  struct {
    std::int32_t images = 0;
    __tgt_device_image* image = nullptr;
    void *first, *last;
  } descriptor;
  descriptor.first = records.data();
  descriptor.last = records.data() + records.size();
  register_library(&descriptor);
  unregister_library(&descriptor);
}

SCENARIO_OF(llvm_requires_alike) {
  pass_by<Record56>({2, 2}, 1);
  pass_by<Record56>({2}, 0);
  pass_by<Record32>({2, 3}, 1);
  return 0;
}
SCENARIO_OF(llvm_requires_in_one_library) {
  pass_by<Record56>({1, 2}, 0);
  return 0;
}
SCENARIO_OF(llvm_requires_of_two_libraries) {
  pass_by<Record56>({1}, 1);
  pass_by<Record32>({2}, 1);
  return 0;
}

TEST_CASE("libraries that contradict each other end the program when they register") {
  const Outcome outcome = run_scenario("llvm_requires_alike");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  for (const char* name : {"llvm_requires_in_one_library", "llvm_requires_of_two_libraries"}) {
    const Outcome contradicts = run_scenario(name);
    CHECK(contradicts.signal == SIGABRT);
    CHECK_MESSAGE(contradicts.has("omptarget fatal error 2: '#pragma omp requires reverse_offload' not used "
                                  "consistently! The clause is present in the library at 0x"),
                  contradicts.output);
    CHECK_MESSAGE(contradicts.has(", and absent in the code that registered before\n"), contradicts.output);
  }
}

TEST_CASE("names of two ABIs are two functions") {
  void* const library = ::dlopen("libomptarget.so", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library);
  for (const char* name : {"__tgt_register_lib", "__tgt_unregister_lib", "__tgt_target", "__tgt_target_teams",
                           "__tgt_target_data_begin", "__tgt_target_data_end", "__tgt_target_data_update"}) {
    void* const llvm = ::dlvsym(library, name, "VERS1.0");
    void* const document = ::dlvsym(library, name, "OMPTARGET_4.5");
    CHECK(llvm);
    CHECK(document);
    CHECK(llvm != document);
  }
}

SCENARIO_OF(llvm_constructor_and_destructor) {
  std::vector<char> bytes = image_file("main");
  Record32 records[] = {{&host::count_up, "count_up", 0, 2, 0}, // its address stands for a constructor
                        {&host::absent, "nothing", 0, 4, 0},    // and a destructor
                        {&host::nothing, "nothing", 0, 0, 0}};
  __tgt_device_image image{bytes.data(), bytes.data() + bytes.size(), nullptr, nullptr};
  struct {
    std::int32_t images;
    __tgt_device_image* image;
    void *first, *last;
  } descriptor{1, &image, records, records + 3};
  register_library(&descriptor);
  EXPECT(launch(&host::nothing, {}) == 0);
  unregister_library(&descriptor);
  return 0;
}

TEST_CASE("constructors and destructors of images tell the plugin that they have one team of one thread") {
  const Outcome outcome =
      run_scenario("llvm_constructor_and_destructor",
                   {"OMPTOOL_PLUGIN_PATH=" TEST_FOLDER "/fakefail", "OMPTOOL_PLUGINS=fakefail", "FAKEFAIL_TELL=1"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.output == "FAKE: run teams 1 threads 1\nFAKE: run alone\nFAKE: run teams 1 threads 1\n");
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls as clang's programs make them, without clang: every version of the kernel arguments, records of both sizes,
// wrapped images, attached pointers. tests/programs/openmp has the rest.
#include "llvm_calls.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <doctest/doctest.h>

using namespace llvm_abi;

namespace {

template <typename Record> Library<Record> main_library(Wrapping wrapping = Wrapping::kRaw) {
  return {image_file("main"), main_entries(), wrapping};
}

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

void* const kRegion = &host::add_one;

// Maps values as clang's code for `declare mapper(Values v) map(v)`: a section that a pointer leads to has a first
// component for itself.
void map_values(void* handle, void* base, void* begin, std::int64_t size, std::int64_t type, void*) {
  using Push = void (*)(void*, void*, void*, std::int64_t, std::int64_t, void*);
  static const Push push = reinterpret_cast<Push>(versioned("__tgt_push_mapper_component"));
  push(handle, base, begin, size, (type & ~kTofrom) | kImplicit, nullptr);
  push(handle, begin, begin, size, (type & kTofrom) | kMemberOfFirst, nullptr);
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

SCENARIO_OF(llvm_close) {
  constexpr std::int64_t kClose = 0x400;
  const Library<Record56> library = main_library<Record56>();
  int values[4] = {1, 2, 3, 4};
  data("__tgt_target_data_begin_mapper", {element(values, kTofrom | kClose)});
  EXPECT(omp_target_is_present(values, 0));
  EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(4)}, 1) == 0);
  const bool is_shared = std::getenv("OMPTOOL_HOST_MEMORY");
  EXPECT(values[0] == (is_shared ? 2 : 1));
  data("__tgt_target_data_end_mapper", {element(values, kTofrom | kClose)});
  EXPECT(values[0] == 2 && values[3] == 5);
  return 0;
}

TEST_CASE("what is to be close is a copy, unless the device has no memory but the host's") {
  for (const char* memory : {"UNUSED=", "OMPTOOL_HOST_MEMORY=shared"}) {
    const Outcome outcome = run_scenario("llvm_close", {"OMP_TARGET_OFFLOAD=MANDATORY", memory});
    CHECK_MESSAGE(outcome.code == 0, std::string(memory) << ": " << outcome.output);
  }
}

SCENARIO_OF(llvm_many_elements) {
  constexpr std::int64_t kHold = 0x2000; // such an element is not plain
  constexpr int kCount = 100;
  const Library<Record56> library = main_library<Record56>();
  int values[2 * kCount] = {};
  std::vector<Element> elements;
  for (int i = 0; i < kCount; ++i)
    elements.push_back({&values[2 * i], &values[2 * i], sizeof(int), i == 1 || i == 50 ? kTofrom | kHold : kTofrom});
  data("__tgt_target_data_begin_mapper", elements);
  for (int i = 0; i < kCount; ++i)
    EXPECT(omp_target_is_present(&values[2 * i], 0) && !omp_target_is_present(&values[2 * i + 1], 0));
  data("__tgt_target_data_end_mapper", elements);
  for (int i = 0; i < kCount; ++i)
    EXPECT(!omp_target_is_present(&values[2 * i], 0));
  return 0;
}

TEST_CASE("a call may have many elements, plain and other ones") {
  const Outcome outcome = run_scenario("llvm_many_elements", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(llvm_mapper_by_pointer) {
  const Library<Record56> library = main_library<Record56>();
  int values[4] = {1, 2, 3, 4};
  int* pointer = values;
  void* const mapper = reinterpret_cast<void*>(&map_values);
  const auto row = [&](void* base, int* begin, std::int64_t type) {
    return Element{base, begin, (values + 4 - begin) * std::int64_t{sizeof(int)}, type, mapper};
  };
  const Element by_value = row(values, values, kTofrom), by_place = row(&pointer, values, kTofrom | kPointerAndObject);
  const auto add_one = [](Element section) {
    section.type |= kParameter;
    return launch(&host::add_one, {section, literal(4)}, 1) == 0;
  };
  EXPECT(add_one(by_value) && add_one(by_place));
  EXPECT(values[0] == 3 && values[3] == 6);
  for (const Element& section : {by_value, by_place}) {
    data("__tgt_target_data_begin_mapper", {section});
    EXPECT(add_one(row(section.base, values + 1, section.type)));
    EXPECT(add_one(section));
    data("__tgt_target_data_end_mapper", {section});
    EXPECT(!omp_target_is_present(values, 0) && !omp_target_is_present(&pointer, 0));
  }
  EXPECT(values[0] == 7 && values[3] == 10 && pointer == values);
  return 0;
}

TEST_CASE("a kernel gets the section that a mapper maps, whether the row has its pointer or the pointer's place") {
  for (const char* memory : {"UNUSED=", "OMPTOOL_HOST_MEMORY=shared"}) {
    const Outcome outcome = run_scenario("llvm_mapper_by_pointer", {"OMP_TARGET_OFFLOAD=MANDATORY", memory});
    CHECK_MESSAGE(outcome.code == 0, std::string(memory) << ": " << outcome.output);
  }
}

SCENARIO_OF(llvm_mapper_device_address) {
  const Library<Record56> library = main_library<Record56>();
  int values[4] = {1, 2, 3, 4};
  int* pointer = values;
  const bool is_shared = std::getenv("OMPTOOL_HOST_MEMORY");
  for (const bool by_place : {false, true}) {
    void* const base = by_place ? static_cast<void*>(&pointer) : values;
    Element section{base, values, sizeof values, kTofrom | kReturn, reinterpret_cast<void*>(&map_values)};
    section.type |= by_place ? kPointerAndObject : std::int64_t{0};
    section.base = data("__tgt_target_data_begin_mapper", {section})[0];
    EXPECT((section.base == values) == is_shared);
    EXPECT(launch(&host::add_one, {literal(reinterpret_cast<std::uintptr_t>(section.base)), literal(4)}, 1) == 0);
    data("__tgt_target_data_end_mapper", {section});
    EXPECT(!omp_target_is_present(values, 0) && !omp_target_is_present(&pointer, 0));
  }
  EXPECT(values[0] == 3 && values[3] == 6);
  return 0;
}

TEST_CASE("use_device_ptr returns the device address of what a mapper maps") {
  for (const char* memory : {"UNUSED=", "OMPTOOL_HOST_MEMORY=shared"}) {
    const Outcome outcome = run_scenario("llvm_mapper_device_address", {"OMP_TARGET_OFFLOAD=MANDATORY", memory});
    CHECK_MESSAGE(outcome.code == 0, std::string(memory) << ": " << outcome.output);
  }
}

SCENARIO_OF(llvm_presence) {
  const Library<Record56> library = main_library<Record56>();
  int values[4] = {1, 2, 3, 4}, other = 0;
  for (int round = 0; round < 2; ++round) {
    EXPECT(!omp_target_is_present(values, 0) && !omp_target_is_present(&other, 0));
    data("__tgt_target_data_begin_mapper", {element(values, kTofrom)});
    data("__tgt_target_data_begin_mapper", {{values, values + 1, sizeof(int), kTofrom}});
    EXPECT(omp_target_is_present(values, 0) && omp_target_is_present(&values[3], 0) &&
           !omp_target_is_present(&other, 0));
    EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(4)}, 1) == 0);
    data("__tgt_target_data_end_mapper", {{values, values + 1, sizeof(int), kTofrom}});
    EXPECT(omp_target_is_present(values, 0));
    data("__tgt_target_data_end_mapper", {element(values, kTofrom)});
  }
  EXPECT(!omp_target_is_present(values, 0) && values[0] == 3 && values[3] == 6);
  return 0;
}

SCENARIO_OF(llvm_larger_than_there) {
  const Library<Record56> library = main_library<Record56>();
  int values[4] = {1, 2, 3, 4};
  data("__tgt_target_data_begin_mapper", {{values, values + 1, sizeof(int), kTofrom}});
  EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(4)}, 1) == 0);
  EXPECT(omp_target_is_present(&values[1], 0) && !omp_target_is_present(values, 0));
  data("__tgt_target_data_end_mapper", {{values, values + 1, sizeof(int), kTofrom}});
  EXPECT(!omp_target_is_present(&values[1], 0) && values[0] == 2 && values[3] == 5);
  return 0;
}

TEST_CASE("what constructs have mapped is present, and nothing else") {
  for (const char* memory : {"UNUSED=", "OMPTOOL_HOST_MEMORY=shared"}) {
    const Outcome outcome = run_scenario("llvm_presence", {"OMP_TARGET_OFFLOAD=MANDATORY", memory});
    CHECK_MESSAGE(outcome.code == 0, std::string(memory) << ": " << outcome.output);
  }
  const Outcome larger =
      run_scenario("llvm_larger_than_there", {"OMP_TARGET_OFFLOAD=MANDATORY", "OMPTOOL_HOST_MEMORY=shared"});
  CHECK_MESSAGE(larger.code == 0, larger.output);
}

SCENARIO_OF(llvm_unmapped) {
  const Library<Record32> library = main_library<Record32>();
  int values[4] = {};
  std::vector<Element> arguments(6, Element{values, values + 1, 0, kParameter});
  EXPECT(launch(&host::record, arguments, 1) == 0);
  EXPECT(launch(&host::nothing, {{host::seen, host::seen, sizeof host::seen, kFrom | kAlways | kParameter}}, 1) == 0);
  EXPECT(host::seen[0] == values);
  return 0;
}

TEST_CASE("a kernel of any generation gets the host's address of what is not mapped") {
  const Outcome outcome = run_scenario("llvm_unmapped", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(llvm_attach) {
  const Library<Record56> library = main_library<Record56>();
  struct {
    int before;
    int* items;
    long length;
  } list{};
  int items[3] = {1, 2, 3};
  list.items = items;
  list.length = 3;
  EXPECT(launch(&host::list_add_one,
                {{&list, &list, sizeof list, kTofrom | kParameter},
                 {items, items, sizeof items, kTofrom},
                 {&list.items, items, sizeof(void*), kAttach}},
                1) == 0);
  EXPECT(items[0] == 2 && items[2] == 4 && list.items == items);
  return 0;
}

TEST_CASE("a pointer in a mapped struct is attached to what it points to") {
  const Outcome outcome = run_scenario("llvm_attach", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

SCENARIO_OF(llvm_cleared_pointer) {
  const Library<Record56> library = main_library<Record56>();
  int values[4] = {1, 2, 3, 4}, items[3] = {};
  int* pointer = items;
  const Element whole{values, values, sizeof values, kTofrom};
  const auto pointee = [&] { return Element{&pointer, pointer, sizeof items, kTofrom | kPointerAndObject}; };
  data("__tgt_target_data_begin_mapper", {whole, element(pointer, kTo), pointee()});
  EXPECT(launch(&host::add_one, {{values, values, sizeof values, kTofrom | kParameter}, literal(4)}, 1) == 0);
  pointer = nullptr;
  data("__tgt_target_data_update_mapper", {{nullptr, nullptr, sizeof items, kTo}, {values, values, 4, kFrom}});
  EXPECT(values[0] == 2 && values[3] == 4);
  data("__tgt_target_data_end_mapper", {whole, element(pointer, kTo), pointee()});
  EXPECT(values[3] == 5);
  EXPECT(!omp_target_is_present(values, 0) && omp_target_is_present(items, 0)); // who clears it leaves it there
  data("__tgt_target_data_begin_mapper", {element(values, kTo), pointee()});
  EXPECT(!omp_target_is_present(values, 0));
  return 0;
}

TEST_CASE("a pointer that is cleared while its object is mapped takes nothing from the rows beside it") {
  const Outcome outcome = run_scenario("llvm_cleared_pointer", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("__tgt_target_data_begin_mapper: argument 1 names memory that cannot exist"));
}

SCENARIO_OF(llvm_falls_back_between) {
  const Library<Record56> library = main_library<Record56>();
  int values[4] = {1, 2, 3, 4};
  const std::vector<Element> whole{{values, values, sizeof values, kTofrom}};
  const std::vector<Element> arguments{{values, values, sizeof values, kTofrom | kParameter}, literal(4)};
  data("__tgt_target_data_begin_mapper", whole);
  EXPECT(launch(&host::add_one, arguments, 1) == 0);
  EXPECT(values[0] == 1);
  EXPECT(launch(&host::absent, arguments, 1) != 0);
  EXPECT(values[0] == 2 && values[3] == 5); // what the device has computed
  for (int& value : values)
    value *= 10;
  EXPECT(launch(&host::add_one, arguments, 1) == 0);
  data("__tgt_target_data_end_mapper", whole);
  EXPECT(values[0] == 21 && values[3] == 51);
  return 0;
}

TEST_CASE("a region that falls back between two that do not works on the right data") {
  const Outcome outcome = run_scenario("llvm_falls_back_between");
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
  CHECK(outcome.has("region absent runs on the host"));
}

SCENARIO_OF(llvm_unknown_version) {
  const Library<Record32> library = main_library<Record32>();
  for (std::uint32_t version : {0U, 4U})
    EXPECT(launch(kRegion, {}, version) != 0);
  return 0;
}

TEST_CASE("kernel arguments of an unknown version are named and not guessed at") {
  CHECK(run_scenario("llvm_unknown_version").has("runs on the host: kernel arguments of version 0 are unknown"));
  const Outcome outcome = run_scenario("llvm_unknown_version", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.has("kernel arguments of version 0 are unknown"));
}

SCENARIO_OF(llvm_missing_global) {
  static char variable[8];
  std::vector<Program::Entry> entries = main_entries();
  entries.push_back({&variable, "no_such_global", sizeof variable});
  const Library<Record32> library(image_file("main"), entries);
  int values[1] = {1};
  EXPECT(launch(kRegion, {{values, values, sizeof values, kTofrom | kParameter}, literal(1)}, 1) != 0);
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

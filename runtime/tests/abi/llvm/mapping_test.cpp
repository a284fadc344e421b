// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data mapping by calls as clang's programs make them: present objects, mappers, attached pointers, fallbacks.
#include "llvm_calls.h"

#include <cstdlib>
#include <doctest/doctest.h>

using namespace llvm_abi;

namespace {

// Maps values as clang's code for `declare mapper(Values v) map(v)`: a section that a pointer leads to has a first
// component for itself.
void map_values(void* handle, void* base, void* begin, std::int64_t size, std::int64_t type, void*) {
  using Push = void (*)(void*, void*, void*, std::int64_t, std::int64_t, void*);
  static const Push push = reinterpret_cast<Push>(versioned("__tgt_push_mapper_component"));
  push(handle, base, begin, size, (type & ~kTofrom) | kImplicit, nullptr);
  push(handle, begin, begin, size, (type & kTofrom) | kMemberOfFirst, nullptr);
}

} // namespace

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

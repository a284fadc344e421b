// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of clang's programs that exceed present objects: parts of structs, and implicit rows.
#include "llvm_calls.h"

#include <doctest/doctest.h>
#include <vector>

using namespace llvm_abi;

namespace {

// Neighbours: objects between which pieces of device memory are free.
template <std::size_t kCount> struct Neighbours {
  long values[kCount];
  Neighbours() {
    for (long& value : values) {
      value = 1;
      data("__tgt_target_data_begin_mapper", {element(value, kTofrom)});
    }
    for (std::size_t i = 0; i < kCount; i += 2)
      data("__tgt_target_data_end_mapper", {element(values[i], 0)});
  }
  // Returns whether the device's copies are what they were.
  bool whole() {
    bool all = true;
    for (std::size_t i = 1; i < kCount; i += 2) {
      data("__tgt_target_data_end_mapper", {element(values[i], kFrom)});
      all = all && values[i] == 1;
    }
    return all;
  }
};

} // namespace

SCENARIO_OF(llvm_implicit_row_past_a_new_object) {
  const Library<Record56> library(image_file("main"), main_entries());
  static long large[8192];
  Neighbours<64> neighbours;
  for (long& value : large)
    value = 2;
  const std::vector<Element> rows{{large, large, sizeof *large, kTofrom},
                                  {large, large, sizeof large, kTofrom | kImplicit}};
  data("__tgt_target_data_begin_mapper", rows);
  data("__tgt_target_data_update_mapper", {{large, large, sizeof large, kTo | kImplicit}});
  large[1] = 3;
  data("__tgt_target_data_update_mapper", {{large, large, sizeof large, kFrom | kImplicit}});
  data("__tgt_target_data_end_mapper", rows);
  EXPECT(large[0] == 2 && large[1] == 3);
  EXPECT(neighbours.whole());
  return 0;
}

TEST_CASE("what is mapped for good counts who holds it, and is not disassociated meanwhile") {
  use_main();
  int values[4] = {};
  void* const there = omp_target_alloc(sizeof values, 0);
  REQUIRE(omp_target_associate_ptr(values, there, sizeof values, 0, 0) == 0);
  for (int round = 0; round < 2; ++round) {
    llvm_abi::data("__tgt_target_data_begin_mapper", {element(values, kHold | kTofrom)});
    CHECK(omp_target_disassociate_ptr(values, 0) == -1);
    llvm_abi::data("__tgt_target_data_begin_mapper", {element(values, kTofrom)}); // counts nothing
    llvm_abi::data("__tgt_target_data_end_mapper", {element(values, kHold | kTofrom)});
  }
  CHECK(omp_target_disassociate_ptr(values, 0) == 0);
  omp_target_free(there, 0);
}

TEST_CASE("parts of a struct outside of what is reserved for them are in one object, unless they are there") {
  use_main();
  struct {
    long first;
    long* pointer;
    long between, last;
  } object = {1, nullptr, 3, 4};
  long pointee = 5;
  object.pointer = &pointee;
  const auto part = [&](long& member, std::int64_t type) {
    return Element{&object, &member, sizeof member, type | kMemberOfFirst};
  };
  const auto parts = [&](std::int64_t type) {
    const Element pointer{&object.pointer, &pointee, sizeof pointee, type | kPointerAndObject | kMemberOfFirst};
    return std::vector<Element>{
        {&object, &object.between, 0, 0}, part(object.first, type), pointer, part(object.last, type)};
  };
  const auto there = [](const void* host) { return omp_target_is_present(host, 0) != 0; };
  llvm_abi::data("__tgt_target_data_begin_mapper", parts(kTo));
  CHECK(there(&object.between)); // from the first to the last
  object.first = object.last = pointee = 0;
  llvm_abi::data("__tgt_target_data_end_mapper", parts(kFrom));
  CHECK(object.first == 1);
  CHECK(object.last == 4);
  CHECK(pointee == 5);
  CHECK(object.pointer == &pointee);
  CHECK_FALSE(there(&object.first));
  CHECK_FALSE(there(&pointee));

  llvm_abi::data("__tgt_target_data_begin_mapper", {element(object.first, kTo)});
  llvm_abi::data("__tgt_target_data_begin_mapper", {element(object.last, kTo)});
  llvm_abi::data("__tgt_target_data_begin_mapper", parts(kTo));
  CHECK_FALSE(there(&object.between));
  llvm_abi::data("__tgt_target_data_end_mapper", parts(kFrom));
  CHECK(there(&object.first));
  llvm_abi::data("__tgt_target_data_end_mapper", {element(object.first, 0), element(object.last, 0)});
  CHECK_FALSE(there(&object.first));
  CHECK_FALSE(there(&object.last));
}

TEST_CASE("a part that nothing has room for is an object of its own, which its construct counts") {
  use_main();
  struct {
    long first, second, between;
    long* pointer;
    long last;
  } object = {1, 2, 3, nullptr, 5};
  long pointee = 6;
  object.pointer = &pointee;
  long* variable = &object.first; // far from the struct, and what the program reaches it by
  const auto there = [](const void* host) { return omp_target_is_present(host, 0) != 0; };
  const auto call = [](const char* name, const std::vector<Element>& rows) { llvm_abi::data(name, rows); };
  const auto rows = [&](std::int64_t type) {
    return std::vector<Element>{{&object, &object.first, 8, 0},
                                {&object, &object.first, 8, type | kMemberOfFirst},
                                {&object.pointer, &pointee, sizeof pointee, type | kPointerAndObject | kMemberOfFirst},
                                {&variable, &variable, sizeof variable, type | kMemberOfFirst}};
  };
  call("__tgt_target_data_begin_mapper", rows(kTo));
  CHECK(there(&object.first));
  CHECK(there(&variable));
  CHECK(there(&object.pointer));
  CHECK(there(&pointee));
  CHECK_FALSE(there(&object.between)); // a pointer is no reason for the struct to have more room
  call("__tgt_target_data_begin_mapper", rows(kTo));
  object.first = pointee = 0;
  call("__tgt_target_data_end_mapper", rows(kFrom));
  CHECK(there(&variable));
  CHECK(there(&object.pointer));
  CHECK(pointee == 0);
  call("__tgt_target_data_end_mapper", rows(kFrom));
  CHECK(object.first == 1);
  CHECK(pointee == 6);
  for (const void* gone : {static_cast<void*>(&object.first), static_cast<void*>(&variable),
                           static_cast<void*>(&object.pointer), static_cast<void*>(&pointee)})
    CHECK_FALSE(there(gone));

  // Last part of the struct: between it and the struct's row lies memory that the same construct maps, and memory of
  // another one.
  const auto last = [&](std::int64_t type) {
    return std::vector<Element>{{&object, &object.first, 8, 0},
                                {&object, &object.first, 8, type | kMemberOfFirst},
                                {&object, &object.second, 8, type | kMemberOfFirst},
                                {&object, &object.last, 8, type | kMemberOfFirst},
                                element(object.pointer, 0)};
  };
  for (const bool before : {false, true}) {
    const std::vector<Element> own{element(object.pointer, 0)};
    if (before)
      call("__tgt_target_data_begin_mapper", own);
    const auto part = last(kTo);
    call("__tgt_target_data_begin_mapper", {part.begin(), part.end() - before});
    CHECK(there(&object.second)); // as far as it goes
    CHECK(there(&object.last));
    CHECK_FALSE(there(&object.between));
    const long was = object.last;
    object.last = 0;
    const auto back = last(kFrom);
    call("__tgt_target_data_end_mapper", {back.begin(), back.end() - before});
    CHECK(object.last == was);
    CHECK(there(&object.pointer) == before);
    CHECK_FALSE(there(&object.second));
    CHECK_FALSE(there(&object.last));
    if (before)
      call("__tgt_target_data_end_mapper", own);
  }
}

TEST_CASE("an implicit row that reaches past its object copies what is there") {
  const Outcome outcome = run_scenario("llvm_implicit_row_past_a_new_object", {"OMP_TARGET_OFFLOAD=MANDATORY"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

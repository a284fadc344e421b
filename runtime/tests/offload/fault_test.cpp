// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of clang's programs on a device that fails at its k-th call, where sanitizers can watch.
// fallback_test.cpp does the same with the document's calls, tests/programs/faults/test_faults.py with clang itself.
#include "fault_sweep.h"
#include "llvm_calls.h"

#include <cstdio>
#include <doctest/doctest.h>

using namespace llvm_abi;

namespace {

constexpr long kItems = 8;

// The host's side of images/stress.c.
char count_call, add_shared, add_table, scale_items;
long calls;
int scale = 3;

struct Vector {
  long count;
  int* items;
};

// The host versions run where the device does not.
void run_add_table(std::vector<Element> elements, long* own, const long* table) {
  elements.push_back(literal(kItems));
  if (launch(&add_table, elements) != 0)
    for (long i = 0; i < kItems; ++i)
      own[i] += table[i];
}
void run_scale_items(const std::vector<Element>& elements, Vector& vector) {
  if (launch(&scale_items, elements) != 0)
    for (long i = 0; i < vector.count; ++i)
      vector.items[i] *= scale;
}

int in_one_data_region() {
  long own[kItems] = {1}, table[kItems] = {10}, other[kItems] = {100};
  data("__tgt_target_data_begin_mapper", {element(own, kTofrom), element(table, kTo)});
  run_add_table({element(own, kTofrom | kParameter), element(table, kTo | kParameter)}, own, table);
  // It needs one object more than the device may have room for.
  run_add_table({element(own, kTofrom | kParameter), element(other, kTo | kParameter)}, own, other);
  run_add_table({element(own, kTofrom | kParameter), element(table, kTo | kParameter)}, own, table);
  data("__tgt_target_data_update_mapper", {element(own, kFrom)});
  EXPECT(own[0] == 121);
  table[0] = 1000;
  run_add_table({element(own, kTofrom | kParameter), element(table, kTo | kAlways | kParameter)}, own, table);
  data("__tgt_target_data_end_mapper", {element(own, kTofrom), element(table, kTo)});
  EXPECT(own[0] == 1121 && own[1] == 0);
  return 0;
}

int counts_and_holds() {
  long own[kItems] = {}, table[kItems] = {};
  table[3] = 2;
  data("__tgt_target_data_begin_mapper", {element(own, kTo | kHold)});
  data("__tgt_target_data_begin_mapper", {element(own, kTo), element(table, kTo)});
  run_add_table({element(own, kTofrom | kParameter), element(table, kTo | kParameter)}, own, table);
  data("__tgt_target_data_end_mapper", {element(own, kDelete), element(table, kDelete)});
  data("__tgt_target_data_end_mapper", {element(own, kFrom | kHold)});
  EXPECT(own[3] == 2);
  return 0;
}

// A struct whose pointer leads to another object, in the ways of clang up to 21 and of clang 22.
int structs() {
  int items[3] = {1, 2, 3};
  Vector vector{3, items};
  const Element whole = element(vector, kTofrom | kParameter);
  const Element pointee{&vector.items, items, sizeof items, kTofrom | kPointerAndObject};
  const Element attached[] = {element(items, kTofrom), {&vector.items, items, sizeof(void*), kAttach}};
  run_scale_items({whole, pointee}, vector);
  run_scale_items({whole, attached[0], attached[1]}, vector);
  EXPECT(items[0] == 9 && items[2] == 27 && vector.items == items);
  data("__tgt_target_data_begin_mapper", {whole});
  data("__tgt_target_data_begin_mapper", {attached[0], attached[1]});
  run_scale_items({whole}, vector);
  data("__tgt_target_data_end_mapper", {attached[0]});
  data("__tgt_target_data_end_mapper", {whole});
  EXPECT(items[0] == 27 && vector.items == items);
  return 0;
}

int copies_for_one_launch() {
  long own[kItems] = {1}, table[kItems] = {5};
  run_add_table({element(own, kTofrom | kParameter), element(table, kTo | kPrivate | kParameter)}, own, table);
  EXPECT(own[0] == 6);
  return 0;
}

int device_addresses() {
  long own[kItems] = {1}, table[kItems] = {5};
  data("__tgt_target_data_begin_mapper", {element(own, kTofrom)});
  const std::vector<void*> base = data("__tgt_target_data_begin_mapper", {element(own, kTo | kReturn)});
  const Element there = literal(reinterpret_cast<std::uintptr_t>(base[0]));
  if (launch(&add_table, {there, element(table, kTo | kParameter), literal(kItems)}) != 0) {
    // The host cannot use the address.
    data("__tgt_target_data_update_mapper", {element(own, kFrom)});
    own[0] += table[0];
    data("__tgt_target_data_update_mapper", {element(own, kTo)});
  }
  data("__tgt_target_data_end_mapper", {{base[0], own, sizeof own, kReturn}});
  data("__tgt_target_data_end_mapper", {element(own, kTofrom)});
  EXPECT(own[0] == 6);
  return 0;
}

int sections() {
  struct {
    std::uint64_t offset, count, stride;
  } every_second[] = {{0, kItems / 2, 2 * sizeof(long)}, {0, 1, sizeof(long)}};
  long own[kItems] = {}, table[kItems] = {1, 2, 3, 4, 5, 6, 7, 8};
  data("__tgt_target_data_begin_mapper", {element(own, kTo)});
  run_add_table({element(own, kTofrom | kParameter), element(table, kTo | kParameter)}, own, table);
  data("__tgt_target_data_update_mapper", {{own, every_second, 2, kFrom | kNonContiguous}});
  EXPECT(own[0] == 1 && own[2] == 3 && own[6] == 7);
  data("__tgt_target_data_end_mapper", {element(own, kDelete)});
  return 0;
}

int globals() {
  calls = 40;
  data("__tgt_target_data_update_mapper", {element(calls, kTo)});
  if (launch(&count_call, {}) != 0)
    ++calls;
  data("__tgt_target_data_update_mapper", {element(calls, kFrom)});
  EXPECT(calls == 41);
  return 0;
}

} // namespace

SCENARIO_OF(every_llvm_call) {
  const Library<Record56> library(image_file("stress"), {{&count_call, "count_call"},
                                                         {&add_shared, "add_shared"},
                                                         {&add_table, "add_table"},
                                                         {&scale_items, "scale_items"},
                                                         {&calls, "calls", sizeof calls},
                                                         {&scale, "scale", sizeof scale}});
  for (int (*const part)() :
       {in_one_data_region, counts_and_holds, structs, copies_for_one_launch, device_addresses, sections, globals})
    if (part() != 0)
      return 1;
  std::puts("done");
  return 0;
}

TEST_CASE("whatever call of the plugin fails under clang's calls, the results are right or the program says why") {
  const FaultSweep sweep = fail_each_call("every_llvm_call");
  CHECK(sweep.completed > 20 / kSweepStep);
  CHECK(sweep.aborted > 20 / kSweepStep);
}

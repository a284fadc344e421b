// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what a region gets: decision 7, and the interface document's section on arguments.
#include "support.h"

#include <array>
#include <cstring>
#include <doctest/doctest.h>
#include <numeric>

namespace {

std::uintptr_t bits(void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Returns the arguments of the kernel that ran last.
std::array<std::uintptr_t, 24> seen_arguments() {
  Rows{row(host::seen, FROM)}.update();
  std::array<std::uintptr_t, 24> all;
  std::memcpy(all.data(), host::seen, sizeof host::seen);
  return all;
}

// The device address of present host memory: a region that maps a zero-length section of it.
std::uintptr_t device_of(void* host) {
  Rows one{{host, nullptr, 0, TOFROM | REF}};
  REQUIRE(one.region(&host::record1) == 0);
  return seen_arguments()[0];
}

} // namespace

TEST_CASE("a region computes on copies of the host's objects") {
  use_main();
  int values[4] = {1, 2, 3, 4};
  Rows rows{row(values, TOFROM | REF), value(4)};
  CHECK(rows.region(&host::add_one) == 0);
  CHECK(values[0] == 2);
  CHECK(values[3] == 5);
  CHECK(omp_target_is_present(values, 0) == 0);
}

TEST_CASE("rows with FIRST_REF, PRIVATE_PTR or PRIVATE_VAL are arguments, in row order") {
  use_main();
  int mapped = 1, other = 2, mine = 3;
  Rows rows{row(mapped, TO | REF),
            row(mapped, TO | ALWAYS),
            value(42),
            row(mine, PRIVATE | TO),
            row(other, REF),
            value(43),
            value(44)};
  CHECK(rows.region(&host::record) == 0);
  const auto seen = seen_arguments();
  CHECK(seen[1] == 42);
  CHECK(seen[4] == 43);
  CHECK(seen[5] == 44);
  for (const std::size_t i : {0U, 2U, 3U})
    CHECK(seen[i] != 0);
  for (void* there : {static_cast<void*>(&mapped), static_cast<void*>(&mine), static_cast<void*>(&other)})
    for (const std::size_t i : {0U, 2U, 3U})
      CHECK(seen[i] != bits(there));
}

TEST_CASE("a kernel gets twenty arguments") {
  use_main();
  Rows rows{value(1),  value(2),  value(3),  value(4),  value(5),  value(6),  value(7),
            value(8),  value(9),  value(10), value(11), value(12), value(13), value(14),
            value(15), value(16), value(17), value(18), value(19), value(20)};
  CHECK(rows.region(&host::record20) == 0);
  const auto seen = seen_arguments();
  for (std::size_t i = 0; i < 20; ++i)
    CHECK(seen[i] == i + 1);
}

TEST_CASE("an array section's argument is its base") {
  use_main();
  int values[10];
  std::iota(values, values + 10, 0);
  Rows data{{values, values + 4, 3 * sizeof(int), TOFROM | REF}};
  data.begin();
  CHECK(omp_target_is_present(&values[4], 0) == 1);
  CHECK(omp_target_is_present(&values[3], 0) == 0);
  CHECK(omp_target_is_present(&values[7], 0) == 0);
  Rows region{{values, values + 5, sizeof(int), TOFROM | REF}};
  CHECK(region.region(&host::record1) == 0);
  const std::uintptr_t base = seen_arguments()[0];
  CHECK(base == device_of(&values[4]) - 4 * sizeof(int));
  data.end();
}

TEST_CASE("a zero-length section is its base's device address, or null") {
  use_main();
  int values[4] = {}, absent = 0;
  Rows data{row(values, TO | REF)};
  data.begin();
  const std::uintptr_t there = device_of(values);
  CHECK(there != 0);
  CHECK(there != bits(values));
  CHECK(device_of(&values[2]) == there + 2 * sizeof(int));
  CHECK(device_of(&values[4]) == 0);
  CHECK(device_of(&absent) == 0);
  CHECK(device_of(nullptr) == 0);
  data.end();
  CHECK(device_of(values) == 0);
}

TEST_CASE("a private array is a copy with or without the host's values") {
  use_main();
  int values[4] = {1, 2, 3, 4};
  int sum = 0;
  // firstprivate(values[1:2]): the base's argument, the section's content, nothing comes back.
  Rows rows{{values, &values[1], 2 * sizeof(int), PRIVATE | TO}, value(2)};
  CHECK(rows.region(&host::record1) == 0);
  CHECK(seen_arguments()[0] != bits(values));
  CHECK(rows.region(&host::nothing) == 0);
  Rows adds{row(values, PRIVATE | TO), value(4)};
  CHECK(adds.region(&host::add_one) == 0);
  CHECK(values[0] == 1);
  CHECK(omp_target_is_present(values, 0) == 0);
  static_cast<void>(sum);
}

TEST_CASE("RETURN_PTR stores device addresses in args_base") {
  use_main();
  int values[8] = {};
  int* pointer = values;
  Rows data{{values, &values[2], 4 * sizeof(int), TO | REF | RETURN},
            {&pointer, &values[2], 4 * sizeof(int), TO | REF | PTR | RETURN}};
  data.begin();
  const std::uintptr_t there = device_of(&values[2]);
  CHECK(bits(data.base(0)) == there - 2 * sizeof(int));
  const std::uintptr_t cell = device_of(&pointer);
  CHECK(bits(data.base(1)) == cell);
  void* in_cell = nullptr;
  CHECK(omp_target_memcpy(&in_cell, reinterpret_cast<void*>(cell), sizeof in_cell, 0, 0, 1, 0) == 0);
  CHECK(bits(in_cell) == there - 2 * sizeof(int));
  Rows{{values, &values[2], 4 * sizeof(int), REF}, {&pointer, &values[2], 4 * sizeof(int), REF | PTR}}.end();
  CHECK(omp_target_is_present(&values[2], 0) == 0);
  CHECK(omp_target_is_present(&pointer, 0) == 0);
}

TEST_CASE("MAP_PTR with FIRST_REF passes the pointer's cell") {
  use_main();
  int values[4] = {};
  int* pointer = values;
  Rows rows{{&pointer, values, sizeof values, TOFROM | PTR | REF}};
  rows.begin();
  CHECK(rows.region(&host::record1) == 0);
  const std::uintptr_t cell = seen_arguments()[0];
  CHECK(cell == device_of(&pointer));
  rows.end();
  CHECK(pointer == values);
}

// The interface document's example and the table of its argument arrays.
TEST_CASE("the pointer-mapping example gives pA, A, s1, C, i, D") {
  use_main();
  constexpr int N = 10, M = 8, S = 2;
  struct S1 {
    int x, y, B[M], *pb, u, v;
  };
  int A[N], D[N], C[N], i = 7;
  std::vector<int> pA_memory(N), pb_memory(M);
  int* pA = pA_memory.data();
  S1 s1{1, 2, {}, pb_memory.data(), 3, 4};
  for (int at = 0; at < N; ++at) {
    A[at] = 10 + at;
    D[at] = 20 + at;
    C[at] = 30 + at;
    pA[at] = 40 + at;
  }
  for (int at = 0; at < M; ++at) {
    s1.B[at] = 50 + at;
    s1.pb[at] = -1;
  }
  Rows data{{pA, &pA[0], M * sizeof(int), TOFROM | REF},
            {&s1, &s1, sizeof s1, TOFROM | REF},
            {&C, &C, sizeof C, TOFROM | REF | RETURN}};
  data.begin();
  void* const device_C = data.base(2);
  CHECK(device_C != static_cast<void*>(C));
  Rows target{{pA, reinterpret_cast<void*>(0xbad), 0, TOFROM | REF},
              {&A, &A[S], (N - S) * sizeof(int), TO | REF},
              {&s1, &s1.B[0], M * sizeof(int) + sizeof(void*), REF},
              {&s1, &s1.B[0], M * sizeof(int), TO},
              {&s1.pb, &s1.pb[0], M * sizeof(int), FROM | PTR},
              {device_C, reinterpret_cast<void*>(0xbad), 0, VALUE},
              {reinterpret_cast<void*>(static_cast<std::intptr_t>(i)), nullptr, 0, VALUE},
              {&D, &D[0], M * sizeof(int), PRIVATE | TO}};
  const std::uintptr_t device_pA = device_of(pA), device_s1 = device_of(&s1);
  REQUIRE(target.region(&host::example) == 0);
  const auto seen = seen_arguments();
  CHECK(seen[0] == device_pA);
  CHECK(seen[1] != bits(A));
  CHECK(seen[2] == device_s1);
  CHECK(seen[3] == bits(device_C));
  CHECK(seen[4] == 7);
  CHECK(seen[5] != bits(D));
  // The pointee of s1.pb was mapped by the region alone, so its values are back; s1 is still mapped.
  for (int at = S; at < M; ++at) {
    const int a = 10 + at + 1, p = 40 + at - 1;
    CHECK(s1.pb[at - S] == 50 + (at - S) + a * p - (30 + at) * (20 + at));
    CHECK(pA[at] == 40 + at);
    CHECK(A[at] == 10 + at);
  }
  data = Rows{{pA, &pA[0], M * sizeof(int), TOFROM | REF},
              {&s1, &s1, sizeof s1, TOFROM | REF},
              {&C, &C, sizeof C, TOFROM | REF}};
  data.end();
  for (int at = S; at < M; ++at)
    CHECK(pA[at] == 40 + at - 1);
  CHECK(s1.pb == pb_memory.data()); // a pointer's device value never comes back
  CHECK(s1.u == 3);
  for (void* gone : {static_cast<void*>(pA), static_cast<void*>(&s1), static_cast<void*>(C), static_cast<void*>(s1.pb)})
    CHECK(omp_target_is_present(gone, 0) == 0);
}

TEST_CASE("teams and threads run each once") {
  use_main();
  int marks[60] = {}, shape[3] = {};
  Rows rows{row(marks, TOFROM | REF), row(shape, FROM | REF)};
  CHECK(rows.teams(&host::team_square, 12, 5) == 0);
  for (const int mark : marks)
    CHECK(mark == 1);
  CHECK(shape[0] == 12);
  CHECK(shape[1] == 5);
  CHECK(shape[2] == 0);
  int one[1] = {};
  Rows single{row(one, TOFROM | REF), row(shape, FROM | REF)};
  CHECK(single.region(&host::team_square) == 0);
  CHECK(one[0] == 1);
  CHECK(shape[0] == 1);
  CHECK(shape[1] == 1);
  std::vector<int> many(1024);
  Rows open{{many.data(), many.data(), static_cast<std::int64_t>(many.size() * sizeof(int)), TOFROM | REF},
            row(shape, FROM | REF)};
  CHECK(open.teams(&host::team_square, 0, 0) == 0);
  CHECK(shape[0] >= 1);
  CHECK(shape[1] == 1);
  CHECK(std::accumulate(many.begin(), many.end(), 0) == shape[0]);
}

TEST_CASE("a kernel that is not exported is found through the image's own table") {
  use_main();
  int number = 0;
  CHECK(Rows{row(number, TOFROM | REF)}.region(&host::hidden) == 0);
  CHECK(number == 77);
  CHECK(Rows{}.region(&host::absent) != 0);
}

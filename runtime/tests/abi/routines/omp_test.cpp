// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device routines of OpenMP 4.5, with the edges that abi-facts.md section 7.8 lists.
#include "support.h"

#include <climits>
#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>

TEST_CASE("memory of a device is allocated, copied with offsets, and freed") {
  use_main();
  REQUIRE(omp_get_num_devices() == 1);
  const int host = omp_get_initial_device();
  char text[16] = "0123456789", back[16] = {};
  char* there = static_cast<char*>(omp_target_alloc(16, 0));
  REQUIRE(there);
  CHECK(omp_target_memcpy(there, text, 5, 3, 1, 0, host) == 0);
  CHECK(omp_target_memcpy(back, there, 5, 1, 3, host, 0) == 0);
  CHECK(std::string(back + 1) == "12345");
  CHECK(omp_target_memcpy(back, text, 3, 0, 7, host, host) == 0);
  CHECK(std::string(back, 3) == "789");
  char* second = static_cast<char*>(omp_target_alloc(16, 0));
  CHECK(omp_target_memcpy(second, there, 5, 0, 3, 0, 0) == 0);
  CHECK(omp_target_memcpy(back, second, 5, 0, 0, host, 0) == 0);
  CHECK(std::string(back, 5) == "12345");
  CHECK(omp_target_memcpy(nullptr, nullptr, 0, 0, 0, 0, 0) == 0);
  CHECK(omp_target_memcpy(nullptr, text, 1, 0, 0, 0, host) == -1);
  CHECK(omp_target_memcpy(there, nullptr, 1, 0, 0, 0, host) == -1);
  CHECK(omp_target_memcpy(there, text, 1, 0, 0, 9, host) == -1);
  CHECK(omp_target_memcpy(there, text, 1, 0, 0, 0, -5) == -1);
  omp_target_free(there, 0);
  omp_target_free(second, 0);
  omp_target_free(nullptr, 0);
  CHECK(omp_target_alloc(0, 0) == nullptr);
  CHECK(omp_target_alloc(8, 9) == nullptr);
  CHECK(omp_target_alloc(SIZE_MAX, 0) == nullptr);
  CHECK(omp_target_is_present(nullptr, 0) == 0);
  CHECK(omp_target_is_present(text, host) == 1);
  CHECK(omp_target_is_present(text, 0) == 0);
}

TEST_CASE("a rectangle of any number of dimensions is copied") {
  use_main();
  const int host = omp_get_initial_device();
  CHECK(omp_target_memcpy_rect(nullptr, nullptr, 0, 0, nullptr, nullptr, nullptr, nullptr, nullptr, 0, 0) == INT_MAX);
  int source[4][5][6], target[3][4][5] = {};
  for (int i = 0; i < 4 * 5 * 6; ++i)
    (&source[0][0][0])[i] = i;
  void* there = omp_target_alloc(sizeof source, 0);
  REQUIRE(omp_target_memcpy(there, source, sizeof source, 0, 0, 0, host) == 0);
  const std::size_t volume[3] = {2, 3, 4}, target_offsets[3] = {1, 0, 1}, source_offsets[3] = {2, 1, 0},
                    target_dimensions[3] = {3, 4, 5}, source_dimensions[3] = {4, 5, 6};
  CHECK(omp_target_memcpy_rect(target, there, sizeof(int), 3, volume, target_offsets, source_offsets, target_dimensions,
                               source_dimensions, host, 0) == 0);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 5; ++k) {
        const bool inside = i >= 1 && j < 3 && k >= 1;
        CHECK(target[i][j][k] == (inside ? source[i - 1 + 2][j + 1][k - 1] : 0));
      }
  CHECK(omp_target_memcpy_rect(target, there, 0, 3, volume, target_offsets, source_offsets, target_dimensions,
                               source_dimensions, host, 0) == -1);
  CHECK(omp_target_memcpy_rect(target, there, 4, 0, volume, target_offsets, source_offsets, target_dimensions,
                               source_dimensions, host, 0) == -1);
  CHECK(omp_target_memcpy_rect(target, nullptr, 4, 3, volume, target_offsets, source_offsets, target_dimensions,
                               source_dimensions, host, 0) == -1);
  const std::size_t endless[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
  CHECK(omp_target_memcpy_rect(target, there, 4, 3, endless, target_offsets, source_offsets, endless, source_dimensions,
                               host, 0) == -1);
  omp_target_free(there, 0);
}

TEST_CASE("an associated pointer is present until it is disassociated") {
  use_main();
  int values[4] = {1, 2, 3, 4};
  char* there = static_cast<char*>(omp_target_alloc(64, 0));
  CHECK(omp_target_associate_ptr(values, there, sizeof values, 16, 0) == 0);
  CHECK(omp_target_associate_ptr(values, there, sizeof values, 16, 0) == 0);
  CHECK(omp_target_associate_ptr(values, there, sizeof values, 0, 0) == -1);
  CHECK(omp_target_associate_ptr(&values[1], there, sizeof values, 0, 0) == -1);
  CHECK(omp_target_is_present(&values[3], 0) == 1);
  // Rows move bytes only by update and ALWAYS, mapped or not.
  Rows{row(values, TO)}.update();
  CHECK(Rows({row(values, TOFROM | REF), value(4)}).region(&host::add_one) == 0);
  CHECK(values[0] == 1);
  Rows{row(values, FROM)}.update();
  CHECK(values[0] == 2);
  CHECK(omp_target_disassociate_ptr(&values[1], 0) == -1);
  CHECK(omp_target_disassociate_ptr(values, 0) == 0);
  CHECK(omp_target_disassociate_ptr(values, 0) == -1);
  CHECK(omp_target_is_present(values, 0) == 0);
  CHECK(omp_target_disassociate_ptr(&host::counter, 0) == -1); // the library's, not the program's
  CHECK(omp_target_associate_ptr(nullptr, there, 4, 0, 0) == -1);
  CHECK(omp_target_associate_ptr(values, nullptr, 4, 0, 0) == -1);
  CHECK(omp_target_associate_ptr(values, there, 0, 0, 0) == -1);
  CHECK(omp_target_associate_ptr(values, there, 4, 0, omp_get_initial_device()) == -1);
  omp_target_free(there, 0);
}

SCENARIO_OF(copy_between_devices) {
  use_main();
  std::vector<char> text(3 << 20, 'x'), back(text.size());
  text.back() = 'y';
  char* first = static_cast<char*>(omp_target_alloc(text.size(), 0));
  char* second = static_cast<char*>(omp_target_alloc(text.size(), 1));
  EXPECT(omp_target_memcpy(first, text.data(), text.size(), 0, 0, 0, 2) == 0);
  EXPECT(omp_target_memcpy(second, first, text.size(), 0, 0, 1, 0) == 0);
  EXPECT(omp_target_memcpy(back.data(), second, text.size(), 0, 0, 2, 1) == 0);
  EXPECT(text == back);
  omp_target_free(first, 0);
  omp_target_free(second, 1);
  return 0;
}

TEST_CASE("memory is copied from device to device") {
  const Outcome outcome = run_scenario("copy_between_devices", {"OMPTOOL_HOST_DEVICES=2"});
  CHECK_MESSAGE(outcome.code == 0, outcome.output);
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/region_name.h"

#include <doctest/doctest.h>

using omptool::region_name;

TEST_CASE("a region is named by its function and line") {
  CHECK(region_name("__omp_offloading_801_2f_work_l5") == "work:5");
  CHECK(region_name("__omp_offloading__801_2f_a_l2_b_l17") == "a_l2_b:17");
  CHECK(region_name("__omp_offloading_801_2f_main_l5_2") == "main:5 (2)");
  CHECK(region_name("__omp_offloading_801_2f__ZN4grid4heatEi_l12") == "grid::heat:12");
  CHECK(region_name("__omp_offloading_801_2f__Z5applyPFviE_l3") == "apply:3");
  CHECK(region_name("__omp_offloading_801_2f__ZN1aclEv_l3") == "a::operator():3");
  CHECK(region_name("__omp_offloading_801_2f__QQmain_l7") == "main program:7");
  CHECK(region_name("__omp_offloading_801_2f__QMgridPheat_l7") == "grid::heat:7");
  CHECK(region_name("__omp_offloading_801_2f__QMgridFheatB1Pinner_l7") == "grid::heat::inner:7");
}

TEST_CASE("a name that clang did not write stays as it is") {
  for (const char* const name :
       {"", "add_one", "__omp_offloading_", "__omp_offloading_801_2f_work", "__omp_offloading_801",
        "__omp_offloading_801_2f__l5", "__omp_offloading_xyz_2f_work_l5", "__omp_offloading_801_2f_work_l5_x",
        "__omp_offloading_801_2f_work_l"})
    CHECK(region_name(name) == name);
  CHECK(region_name("__omp_offloading_801_2f__QMgrid_l7") == "_QMgrid:7");
  CHECK(region_name("__omp_offloading_801_2f__Q_l7") == "_Q:7");
  CHECK(region_name("__omp_offloading_801_2f__Znonsense_l7") == "_Znonsense:7");
}

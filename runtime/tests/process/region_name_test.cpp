// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process/region_name.h"

#include <doctest/doctest.h>

using omptool::region_name;

namespace {

std::string name_in(const std::string& function) {
  return region_name("__omp_offloading_fe00_244a63_" + function + "_l5");
}

} // namespace

TEST_CASE("a region is a function without types, and a line") {
  CHECK(name_in("work") == "work:5");
  CHECK(name_in("_Z4workiPd") == "work:5");
  CHECK(name_in("_ZNK4grid1SIdiE4heatEi") == "grid::S<double, int>::heat:5");
  CHECK(name_in("_ZN4grid4heatIdEEvT_") == "grid::heat<double>:5");
  CHECK(name_in("_ZNK1AcvSt6vectorIiSaIiEEEv") == "A::operator std::vector<int, std::allocator<int> >:5");
  CHECK(name_in("_ZN1AclEi") == "A::operator():5");
  CHECK(name_in("_ZltIiEbT_S0_") == "operator< <int>:5");
  CHECK(name_in("_ZN10operator_x1fEi") == "operator_x::f:5");
  CHECK(name_in("_Zwrong") == "_Zwrong:5");
}

TEST_CASE("other names stay") {
  for (const char* name :
       {"", "saxpy", "__omp_offloading_", "__omp_offloading_1_2_work", "__omp_offloading_1_2_work_lx"})
    CHECK(region_name(name) == name);
  CHECK(region_name("__omp_offloading_1_2_work_l5_ctor") == "work:5 (ctor)");
}

// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compact_name.h"
#include "region_name.h"

#include <doctest/doctest.h>
#include <string>

#include <array>

// Demangler of libstdc++, null in builds with sanitizers.
extern "C" [[gnu::weak]] int __gcclibcxx_demangle_callback(const char* mangled,
                                                           void (*append)(const char*, std::size_t, void*), void* to);

namespace {

// Returns what both functions return.
std::string region_name(std::string_view kernel) {
  std::array<char, 512> memory{};
  const std::string name = omptool::region_name(kernel);
  if (__gcclibcxx_demangle_callback || kernel.find("__Z") == kernel.npos)
    CHECK(omptool::region_name(kernel, memory) == name);
  return name;
}

} // namespace

namespace {

// Returns the name of a region whose kernel has the file's numbers and this end.
std::string name_of(const std::string& end) {
  return region_name("__omp_offloading_801_2f_" + end);
}

} // namespace

TEST_CASE("a region is named by its function and line") {
  CHECK(name_of("work_l5") == "work:5");
  CHECK(region_name("__omp_offloading__801_2f_a_l2_b_l17") == "a_l2_b:17");
  CHECK(name_of("main_l5_2") == "main:5 (2)");
  CHECK(name_of("_ZN4grid4heatEi_l12") == "grid::heat:12");
  CHECK(name_of("_Z5applyPFviE_l3") == "apply:3");
  CHECK(name_of("_ZN1aclEv_l3") == "a::operator():3");
  CHECK(name_of("_QQmain_l7") == "main program:7");
  CHECK(name_of("_QMgridPheat_l7") == "grid::heat:7");
  CHECK(name_of("_QMgridFheatB1Pinner_l7") == "grid::heat::inner:7");
}

TEST_CASE("a name that clang did not write stays as it is") {
  for (const char* const name :
       {"", "add_one", "__omp_offloading_", "__omp_offloading_801_2f_work", "__omp_offloading_801",
        "__omp_offloading_801_2f__l5", "__omp_offloading_xyz_2f_work_l5", "__omp_offloading_801_2f_work_l5_x",
        "__omp_offloading_801_2f_work_l"})
    CHECK(region_name(name) == name);
  CHECK(name_of("_QMgrid_l7") == "_QMgrid:7");
  CHECK(name_of("_Q_l7") == "_Q:7");
  CHECK(name_of("_Znonsense_l7") == "_Znonsense:7");
}

TEST_CASE("functions have no types") {
  const auto name_in = [](const std::string& function) { return name_of(function + "_l5"); };
  CHECK(name_in("_Z4workiPd") == "work:5");
  CHECK(name_in("_ZNK4grid1SIdiE4heatEi") == "grid::S<double, int>::heat:5");
  CHECK(name_in("_ZN4grid4heatIdEEvT_") == "grid::heat<double>:5");
  CHECK(name_in("_ZNK1AcvSt6vectorIiSaIiEEEv") == "A::operator std::vector<int, std::allocator<int> >:5");
  CHECK(name_in("_ZltIiEbT_S0_") == "operator< <int>:5");
  CHECK(name_in("_ZN10operator_x1fEi") == "operator_x::f:5");
}

TEST_CASE("lambdas have neither types nor scopes") {
  CHECK(name_of("_ZZ4mainENKUliE_clEi_l5") == "main::{lambda#1}::operator():5");
  CHECK(name_of("_ZN1a6forallIZNS_3runIdEEvT_EUliE_EEvS2__l2") == "a::forall<run::{lambda#1}>:2");
  CHECK(name_of("_ZN1a12_GLOBAL__N_16forallIlZNS_5plainEiE4BodyEEviT0__l2") ==
        "a::(anonymous namespace)::forall<long, a::plain::Body>:2");
  CHECK(name_of("_ZN1a12_GLOBAL__N_16forallIcZZNS0_1SIdE3runIfEEvT_ENKUliE0_clEiEUliE_EEviT0__l2") ==
        "a::(anonymous namespace)::forall<char, run::{lambda#2}::operator()::{lambda#1}>:2");
  CHECK(name_of("_ZN1a12_GLOBAL__N_16forallIiZNKS0_1SIfEclEiEUliE_EEviT0__l2") ==
        "a::(anonymous namespace)::forall<int, S::operator()::{lambda#1}>:2");
}

TEST_CASE("lambdas have scopes where two names would be equal") {
  const std::string prefix = "__omp_offloading_801_2f_";
  const std::string one = prefix + "_ZN1a6forallIZNS_3runIfEEvT_EUliE_EEvS2__l2",
                    two = prefix + "_ZN1a6forallIZNS_3runIdEEvT_EUliE_EEvS2__l2",
                    other = prefix + "_ZN1a6forallIZNS_4walkEiEUliE_EEvT__l2",
                    int_heat = prefix + "_ZN4grid4heatEi_l12", double_heat = prefix + "_ZN4grid4heatEd_l12";
  const auto names = omptool::region_names({one, two, other, int_heat, double_heat});
  CHECK(names.at(one) == "a::forall<a::run<float>::{lambda#1}>:2");
  CHECK(names.at(two) == "a::forall<a::run<double>::{lambda#1}>:2");
  CHECK(names.at(other) == "a::forall<walk::{lambda#1}>:2");
  CHECK(names.at(int_heat) == "grid::heat(int):12");
  CHECK(names.at(double_heat) == "grid::heat(double):12");
}

TEST_CASE("names that look like lambdas stay as they are") {
  for (std::string name : {"heat<int (*)(int), (a::E)0>", "(anonymous namespace)::f", "A::operator()", "f<(a::(",
                           "::{lambda#::{lambda#", "f<::{lambda#1}>", "decltype(f(1))::call", "(", "{lambda(", ""}) {
    const std::string before = name;
    name.resize(omptool::remove_types_of_scopes(name));
    name.resize(omptool::remove_scopes_of_lambdas(name));
    CHECK(name == before);
  }
}

TEST_CASE("a name without the heap ends with its memory") {
  std::array<char, 6> memory{};
  CHECK(omptool::region_name("__omp_offloading_801_2f_advance_l5", memory) == "advanc");
  CHECK(omptool::region_name("__omp_offloading_801_2f_work_l5", std::span<char>()).empty());
}

TEST_CASE("a mangled name that is too long for a handler's stack stays mangled") {
  const std::string function = "_Z300" + std::string(300, 'a') + "i";
  std::array<char, 512> memory{};
  CHECK(omptool::region_name("__omp_offloading_801_2f_" + function + "_l5", memory) == function + ":5");
  CHECK(omptool::region_name("__omp_offloading_801_2f_" + function + "_l5") == std::string(300, 'a') + ":5");
}

TEST_CASE("of regions with one name, functions have types") {
  const std::string prefix = "__omp_offloading_801_2f_";
  const auto names = omptool::region_names(
      {prefix + "_Z4workiPd_l5", prefix + "_Z4workPd_l5", prefix + "_Z4restv_l5", prefix + "main_l7", "add_one"});
  CHECK(names.at(prefix + "_Z4workiPd_l5") == "work(int, double*):5");
  CHECK(names.at(prefix + "_Z4workPd_l5") == "work(double*):5");
  CHECK(names.at(prefix + "_Z4restv_l5") == "rest:5");
  CHECK(names.at(prefix + "main_l7") == "main:7");
  CHECK(names.at("add_one") == "add_one");
  const std::string elsewhere = "__omp_offloading_801_30_main_l7";
  CHECK(omptool::region_names({prefix + "main_l7", elsewhere}).at(elsewhere) == elsewhere);
}

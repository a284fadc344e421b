// Part of omptool, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "summary/layout.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace omptool::observe;
using Names = std::vector<std::string>;

TEST_CASE("numbers have three digits and a unit") {
  CHECK(time_text(0) == "0 ns");
  CHECK(time_text(999) == "999 ns");
  CHECK(time_text(1000) == "1.00 us");
  CHECK(time_text(12'345'678) == "12.3 ms");
  CHECK(time_text(999'600) == "1.00 ms");
  CHECK(time_text(5e12) == "5000 s");
  CHECK(bytes_text(64) == "64 B");
  CHECK(bytes_text(64'800) == "64.8 kB");
}

TEST_CASE("arguments go before the middle of a name") {
  const std::string name = "solver::Relaxation<double, grid::Uniform<3>>::apply(int (*)(float)):42";
  CHECK(fitted({name}, 80) == Names{name});
  CHECK(fitted({name}, 40) == Names{"solver::Relaxation<…>::apply(…):42"});
  CHECK(fitted({name}, 17) == Names{"…apply(…):42"});
  CHECK(fitted({"A::operator<<(int, double, long):7"}, 30) == Names{"A::operator<<(…):7"});
  CHECK(fitted({"A<B->C>::f:7"}, 10) == Names{"A<…>::f:7"});
}

TEST_CASE("names stay different") {
  const Names names{"grid::Relax<double>::apply:42", "grid::Relax<float>::apply:42", "grid::Relax<int>::apply:7"};
  CHECK(fitted(names, 28) == Names{"grid::Relax<…>::apply:42", names[1], names[2]});
  CHECK(fitted(names, 24) == Names{"…Relax<double>::apply:42", "…Relax<float>::apply:42", "grid::Relax<…>::apply:7"});
  CHECK(fitted(names, 20) == Names{"…<double>::apply:42", "…<float>::apply:42", "…Relax<int>::apply:7"});
  CHECK(fitted(names, 10) == Names{"…apply:42", "…apply:42", "…apply:7"});
  CHECK(fitted({"relax_all:42"}, 10) == Names{"rela…ll:42"});
  const Names lambdas{"grid::forall<policy::device, double, halo::{lambda#1}>:15",
                      "grid::forall<policy::device, double, flux::{lambda#1}>:15"};
  CHECK(fitted({lambdas[0]}, 50) == Names{"grid::forall<…>:15"});
  CHECK(fitted(lambdas, 50) ==
        Names{"grid::forall<policy::device, double, …halo…:15", "grid::forall<policy::device, double, …flux…:15"});
  CHECK(fitted(lambdas, 40) ==
        Names{"grid::forall<policy::device, do…halo…:15", "grid::forall<policy::device, do…flux…:15"});
  CHECK(fitted(lambdas, 20) == Names{"grid::foral…halo…:15", "grid::foral…flux…:15"});
  CHECK(fitted(lambdas, 8) == Names{"gri…>:15", "gri…>:15"});
  CHECK(fitted({"main::{lambda#1}::operator():5"}, 20) == Names{"…operator():5"});
}

TEST_CASE("columns stand below each other") {
  const Table table{
      {"region", "time", "waited"}, {{"grün", "1 ns", "2 ns"}, {std::string(60, 'x'), "10.0 ms", "0 ns"}}, 2};
  CHECK(table.lines(40) == Names{"  region                            time", "  grün                              1 ns",
                                 "  xxxxxxxxxxxxxx…xxxxxxxxxxxxxx  10.0 ms"});
  CHECK(table.lines(79).front().ends_with("time  waited"));
  CHECK(table.lines(78).front().ends_with("   time"));
}

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions have short names: functions without types, and lines."""

from __future__ import annotations

import pytest

from packager.naming.region_names import (
    short_name,
    short_names,
    spellings,
    titles,
    without_parameters,
)


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("work", "work"),
        ("m::p", "m::p"),
        ("main program", "main program"),
        ("grid::heat(int, double*)", "grid::heat"),
        ("grid::S<double, int>::heat(int) const", "grid::S<double, int>::heat"),
        ("void heat<double>(int)", "heat<double>"),
        ("std::vector<int, A> grid::make<int>(void (*)(int), B)", "grid::make<int>"),
        ("(anonymous namespace)::f(int) [clone .isra.0]", "(anonymous namespace)::f"),
        ("f(int)::{lambda(int)#1}::operator()(int) const", "f(int)::{lambda(int)#1}::operator()"),
        ("A::operator()() &&", "A::operator()"),
        ("A::operator std::vector<int>() const", "A::operator std::vector<int>"),
        ("operator new(unsigned long)", "operator new"),
        ("bool operator< <int>(A<int>, A<int>)", "operator< <int>"),
        ("A& operator<< <int>(A&, int)", "operator<< <int>"),
        ("A::operator->()", "A::operator->"),
        ("A::operator[](int)", "A::operator[]"),
        ("decltype(auto) f<int>(int)", "f<int>"),
        (")", ")"),
        ("(int)", "(int)"),
    ],
)
def test_a_function_without_types(function: str, short: str) -> None:
    assert without_parameters(function) == short


PREFIX = "__omp_offloading_fe00_244a63_"


def test_parameters_where_two_would_be_equal() -> None:
    work = f"{PREFIX}work_l5"
    heat, other = f"{PREFIX}_ZN4grid4heatEi_l12", f"{PREFIX}_ZN4grid4heatEd_l12"
    assert short_name(heat) == "grid::heat:12"
    assert short_names([heat, f"{PREFIX}_ZN4grid4heatEd_l13", work, "saxpy"]) == {
        heat: "grid::heat:12",
        f"{PREFIX}_ZN4grid4heatEd_l13": "grid::heat:13",
        work: "work:5",
    }
    assert list(short_names([heat, other]).values()) == [
        "grid::heat(int):12",
        "grid::heat(double):12",
    ]
    assert short_name("_Z4workPd._omp_fn.0") == "work"


def test_all_spellings() -> None:
    name = f"{PREFIX}_ZN4grid4heatEi_l12"
    assert [*spellings(name)] == [name, name, "grid::heat:12", "grid::heat(int):12"]
    assert [*spellings("saxpy")] == ["saxpy", "saxpy"]


def test_names_that_are_equal_stay_as_they_are() -> None:
    """Two static functions of two files, and two regions of GCC's in one function."""
    names = [f"{PREFIX}work_l5", "__omp_offloading_fe00_7_work_l5", f"{PREFIX}main_l3", "x"]
    assert titles(names) == {name: name for name in names} | {f"{PREFIX}main_l3": "main:3"}
    of_gcc = ["main._omp_fn.0", "main._omp_fn.1", "work._omp_fn.0"]
    assert list(titles(of_gcc).values()) == [*of_gcc[:2], "work"]

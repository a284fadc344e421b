# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions have short names: functions without types, and lines."""

from __future__ import annotations

import pytest

from packager.naming.demangle import demangled
from packager.naming.lambdas import with_short_scopes, without_types_of_scopes
from packager.naming.region_names import (
    in_words,
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


FIELD = "a::(anonymous namespace)::S<double>"


@pytest.mark.parametrize(
    ("function", "untyped", "short"),
    [
        ("heat<int (*)(int), (a::E)0>", None, None),
        ("(anonymous namespace)::f", None, None),
        ("A::operator()", None, None),
        ("std::function<void (int)>::call", None, None),
        ("decltype(f(1))::call", None, None),
        ("f(int)::Body::operator()", "f::Body::operator()", None),
        ("f(int)::{lambda(int)#1}::operator()", "f::{lambda#1}::operator()", None),
        (
            f"a::forall<int, {FIELD}::run<float>(float, int*)::{{lambda(int)#2}}>",
            f"a::forall<int, {FIELD}::run<float>::{{lambda#2}}>",
            "a::forall<int, run::{lambda#2}>",
        ),
        (
            "forall<a::f(int) const::{lambda(int)#1}::operator()(int) const::{lambda()#2}, int>",
            "forall<a::f::{lambda#1}::operator()::{lambda#2}, int>",
            "forall<f::{lambda#1}::operator()::{lambda#2}, int>",
        ),
        (
            "twice<a::f()::{lambda()#1}, a::g<b::c<1> >()::{lambda()#1}>",
            "twice<a::f::{lambda#1}, a::g<b::c<1> >::{lambda#1}>",
            "twice<f::{lambda#1}, g::{lambda#1}>",
        ),
        (
            "forall<a::S<int>::operator()(int) const::{lambda(int)#1}>",
            "forall<a::S<int>::operator()::{lambda#1}>",
            "forall<S::operator()::{lambda#1}>",
        ),
        ("f<" + "(" * 5000 + ")::", None, None),
        ("f<(a::(", None, None),
        ("f<(a)::{lambda#", None, None),
        ("::{lambda#::{lambda#", None, None),
    ],
)
def test_lambdas_are_shortened(function: str, untyped: str | None, short: str | None) -> None:
    untyped = untyped or function
    assert without_types_of_scopes(function) == untyped
    assert with_short_scopes(untyped) == (short or untyped)


def test_scopes_of_lambdas_where_two_would_be_equal() -> None:
    """A template for three lambdas, of which two are in functions of one name."""
    one, two = (f"{PREFIX}_ZN1a6forallIZNS_3runI{kind}EEvT_EUliE_EEvS2__l2" for kind in "fd")
    other = f"{PREFIX}_ZN1a6forallIZNS_4walkEiEUliE_EEvT__l2"
    assert short_names([one, two, other]) == {
        one: "a::forall<a::run<float>::{lambda#1}>:2",
        two: "a::forall<a::run<double>::{lambda#1}>:2",
        other: "a::forall<walk::{lambda#1}>:2",
    }
    assert in_words("_ZN1a6forallIZNS_3runIfEEvT_EUliE_EEvS2_:2") == (
        "a::forall<a::run<float>::{lambda#1}>:2"
    )
    assert [*spellings(one)][2:] == [
        "a::forall<run::{lambda#1}>:2",
        "a::forall<a::run<float>::{lambda#1}>:2",
        f"{demangled(one.removeprefix(PREFIX).removesuffix('_l2'))}:2",
    ]


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

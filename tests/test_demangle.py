# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mangled names are shown as sources have them, and hostile ones do no harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from omptool.render.names import readable, source
from omptool.render.verify import verify_text
from packager.hosts.load import load
from packager.model import Finding
from packager.naming.demangle import demangled
from packager.naming.region_names import short_name


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        ("_QMmPp", "m::p"),
        ("_QMmFpPq", "m::p::q"),
        ("_QMmEv", "m::v"),
        ("_QMmECv", "m::v"),
        ("_QQmain", "main program"),
        ("_QFPinner", "main program::inner"),
        ("_QMparentSchildPp", "parent::child::p"),
        ("_QMmFpB1Ev", "m::p::v"),
        ("_QMdeep_modFouter_procPinner", "deep_mod::outer_proc::inner"),
        ("_QPext", "ext"),
        ("_QMm10Ecounter_decl_tgt_ref_ptr", "m10::counter_decl_tgt_ref_ptr"),
    ],
)
def test_flangs_names(mangled: str, plain: str) -> None:
    assert demangled(mangled) == plain


@pytest.mark.parametrize(
    "name",
    ["_Q", "_QM", "_QMm", "_QMmP", "_QMmPp.x", "_QQclX2F", "_QB1", "_QPp\n", "Q", "", "ext_"],
)
def test_what_flang_did_not_make_stays(name: str) -> None:
    assert demangled(name) == name


def test_regions_of_fortran() -> None:
    region = "__omp_offloading_fe00_240127__QMmFpPq_l8"
    assert short_name(region) == "m::p::q:8"
    assert source(region) == "_QMmFpPq:8"
    assert readable(region) == "m::p::q:8"
    assert readable("__omp_offloading_1_2__QQmain_l4") == "main program:4"
    assert readable("_QMmEv") == "_QMmEv (m::v)"
    assert readable("__omp_offloading_1_2_scaled_l4 and _x") == "scaled:4 and _x"
    assert readable("v") == "v"


def test_names_of_two_kernels_that_differ_in_their_files() -> None:
    one, other = (f"__omp_offloading_1_{inode}_work_l4" for inode in "23")
    assert readable(f"{one} is {other} in image 0") == f"{one} is {other} in image 0 (work:4)"


def test_verify_names_regions_as_people_do() -> None:
    message = "__omp_offloading_1_2__QMmPp_l3 and _QMmEv are missing, scaled is there"
    text = verify_text(
        load(DATA / "none.fatbin"), [Finding("OMP105", "error", message, "hint")], []
    )
    assert ": OMP105 error: m::p:3 and _QMmEv are missing, scaled is there (m::v)\n" in text


@given(st.text("MSFPECTNBQm1_$lé\n\0", max_size=200) | st.text(max_size=50))
def test_hostile_names(name: str) -> None:
    """Each name has an answer, in one line if it is one."""
    mangled = f"_Q{name}"
    for text in (demangled(mangled), source(f"__omp_offloading_1_2_{mangled}_l3") or "x"):
        assert text
        assert ("\n" in text) <= ("\n" in mangled)
    assert demangled("_Q" + "Fp" * len(name) + "Pq") == "::".join(["p"] * len(name) + ["q"])

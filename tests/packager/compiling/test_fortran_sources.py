# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool cc` compiles Fortran by flang, for the host and each device apart."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import flang
import pytest
from build_trees import call, done
from clangs import tool
from documents import dumped_images
from fixture_programs import NVPTX, OMPTOOL, X86_64
from places import TESTS
from running import MANDATORY, run

pytestmark = [pytest.mark.slow]

REGIONS = TESTS / "packager" / "linking" / "sources" / "regions.f90"
PRINTED = "  55   2   1\n"
CC = (OMPTOOL, "cc", "--cc", flang.NAME)
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(regions Fortran)
find_package(OpenMP REQUIRED)
add_executable(regions regions.f90)
target_link_libraries(regions PRIVATE OpenMP::OpenMP_Fortran)
"""
TWICE = """#include <omp.h>
void twice(int *x) {
#pragma omp target map(tofrom: x[0:1])
  *x *= omp_is_initial_device() ? 0 : 2;
}
"""
MAIN = """program main
  interface
    subroutine twice(x) bind(c)
      integer :: x
    end subroutine
  end interface
  integer :: x
  x = 20
  !$omp target map(tofrom: x)
  x = x + 1
  !$omp end target
  call twice(x)
  print '(i0)', x
end program
"""


@pytest.fixture(autouse=True)
def _has_flang() -> None:
    flang.command()


def printed(program: Path) -> str:
    ran = run(program, **MANDATORY)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.offloads
@pytest.mark.parametrize("suffix", [".f90", ".F90"])
def test_a_program_in_one_go(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a{suffix}").write_text(REGIONS.read_text())
    assert call(tmp_path, *CC, "-O2", f"a{suffix}", flang.LIBOMP, "-o", "app") == ""
    assert printed(tmp_path / "app") == PRINTED


def test_a_program_without_regions(tmp_path: Path) -> None:
    """Build systems compile such programs first, to test the compiler."""
    (tmp_path / "a.f90").write_text("program p\n  print '(a)', 'plain'\nend program\n")
    assert call(tmp_path, *CC, "-c", "a.f90") == ""
    call(tmp_path, *CC, "a.o", flang.LIBOMP, "-o", "app")
    assert run(tmp_path / "app").stdout == "plain\n"


@pytest.mark.offloads
def test_fixed_form(tmp_path: Path) -> None:
    lines = ("program p", "integer k", "k = 1")
    region = ("!$omp target map(tofrom: k)", "      k = k + 1", "!$omp end target")
    own = [f"      {line}" for line in lines]
    (tmp_path / "a.f").write_text("\n".join([*own, *region, "      print *, k", "      end", ""]))
    call(tmp_path, *CC, "a.f", flang.LIBOMP, "-o", "app")
    assert printed(tmp_path / "app").split() == ["2"]


@pytest.mark.offloads
def test_c_and_fortran_are_one_image(tmp_path: Path) -> None:
    (tmp_path / "twice.c").write_text(TWICE)
    (tmp_path / "main.f90").write_text(MAIN)
    clang = tmp_path / "clang-of-flangs-release"
    words = [f"'{word}'" for word in tool(flang.RELEASE)]
    clang.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    clang.chmod(0o755)
    words = ["env", "FC=" + flang.NAME, OMPTOOL, "cc", "--cc", str(clang)]
    call(tmp_path, *words, "main.f90", "twice.c", flang.LIBOMP, "-o", "app")
    assert printed(tmp_path / "app") == "42\n"
    assert [image["triple"] for image in dumped_images(tmp_path / "app")] == [X86_64]


@pytest.mark.exhaustive
@pytest.mark.offloads
def test_cmake_takes_a_script_for_its_compiler(tmp_path: Path) -> None:
    """CMake has no launcher of linkers for Fortran."""
    shutil.copy(REGIONS, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    script = tmp_path / "offload-flang"
    script.write_text(f'#!/bin/sh\nexec {OMPTOOL} cc --triple x86_64 -- {flang.NAME} "$@"\n')
    script.chmod(0o755)
    chosen = (f"-DCMAKE_Fortran_COMPILER={script}", f"-DCMAKE_Fortran_FLAGS={flang.LIBOMP}")
    call(tmp_path, "cmake", "-S", ".", "-B", "build", *chosen)
    call(tmp_path, "cmake", "--build", "build")
    assert printed(tmp_path / "build" / "regions") == PRINTED


def test_an_object_has_bitcode_of_each_device(tmp_path: Path) -> None:
    targets = ("--triple", X86_64, "--triple", f"{NVPTX}:sm_90", "--triple", "amdgcn:gfx90a")
    call(tmp_path, *CC, *targets, "-c", REGIONS)
    images = dumped_images(tmp_path / "regions.o")
    assert [(i["triple"], i["arch"], i["kind"]) for i in images] == [
        (X86_64, None, "bitcode"),
        (NVPTX, "sm_90", "bitcode"),
        ("amdgcn-amd-amdhsa", "gfx90a", "bitcode"),
    ]
    assert (tmp_path / "deep.mod").is_file()


def test_a_gpu_needs_its_processor(tmp_path: Path) -> None:
    ran = done(tmp_path, *CC, "--triple", "nvptx64", "-c", REGIONS)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"Error: {NVPTX} names no processor; use nvptx64:ARCH")


def test_another_compiler_is_for_the_host_alone(tmp_path: Path) -> None:
    other = f"sh -c 'test $1 = --version || exec {flang.NAME} \"$@\"' flang-of-others"
    ran = done(tmp_path, OMPTOOL, "cc", "--cc", f"env FC=1 {other}", "-c", "a.f90")
    assert ran.returncode  # `sh` is no compiler of Fortran by its name
    (tmp_path / "mpifort").write_text(f"#!/bin/sh\ntest $1 = --version || exec {flang.NAME} $@\n")
    (tmp_path / "mpifort").chmod(0o755)
    ran = done(tmp_path, "env", "FC=./mpifort", OMPTOOL, "cc", "-c", REGIONS)
    assert ran.returncode == 0
    what = "is not flang: its objects have no code for devices"
    assert ran.stderr == f"Warning: ./mpifort {what}\n"
    assert dumped_images(tmp_path / "regions.o") == []


def test_no_flang_is_said(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    environment = {**os.environ, "PATH": str(tmp_path / "bin"), "FC": ""}
    words = [f"{name}={environment[name]}" for name in ("PATH", "FC")]
    ran = done(tmp_path, "env", *words, OMPTOOL, "cc", "-c", REGIONS)
    assert ran.returncode == 3
    assert ran.stderr.startswith("Error: no flang is on PATH (flang, or flang-19 to flang-30): ")
    assert ran.stderr.count("\n") == 1


def test_standard_input_is_refused(tmp_path: Path) -> None:
    ran = done(tmp_path, *CC, "-x", "f95", "-", "-c", "-o", "a.o")
    what = "standard input can be read only once: for host and devices, give a file"
    assert (ran.returncode, ran.stderr) == (2, f"Error: {what}\n")

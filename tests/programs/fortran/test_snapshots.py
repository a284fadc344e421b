# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of a snapshot's flang run on the CPU device, whoever links them.

Its kernels take the launch environment last, each argument as a parameter: those of clang since 23
take an array of arguments, with the same calls.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from clangs import UNPACKED_SNAPSHOTS, made, tool
from fixture_programs import OMPTOOL
from flang import LIBOMP, OFFLOADING
from places import TESTS
from running import MANDATORY, run

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

SOURCES = TESTS / "programs" / "fortran" / "programs"
NAMES = ("limits", "reductions", "schedules", "teams", "vectors")


def by_driver(out: Path, source: Path, flang: list[str], flags: tuple[str, ...]) -> Path:
    runtime = (f"-L{libdir()}", "-lomptarget.devicertl.host", LIBOMP)
    return made(out, *flang, *OFFLOADING, *flags, source, *runtime)


def by_link(out: Path, source: Path, flang: list[str], flags: tuple[str, ...]) -> Path:
    built = made(out.with_suffix(".o"), *flang, *OFFLOADING, *flags, "-c", source)
    return made(out, OMPTOOL, "link", "--", *flang, built, LIBOMP, "-lomp")


def by_cc(out: Path, source: Path, flang: list[str], flags: tuple[str, ...]) -> Path:
    return made(out, OMPTOOL, "cc", "--", *flang, *OFFLOADING, *flags, source, LIBOMP)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", [by_driver, by_link, by_cc])
@pytest.mark.parametrize("version", UNPACKED_SNAPSHOTS)
def test_programs(version: str, by: Callable[..., Path], name: str, tmp_path: Path) -> None:
    flags = ("-O2", f"-J{tmp_path}", *(() if name == "limits" else ("-fopenmp-version=52",)))
    program = by(tmp_path / name, SOURCES / f"{name}.f90", tool(version, "flang"), flags)
    done = run(program, **MANDATORY, OMP_NUM_THREADS="2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")

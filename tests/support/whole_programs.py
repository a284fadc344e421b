# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of tests/programs/{openmp,book}: how `make test` builds each, and how they end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builds import Build, in_turn, two_clangs
from clangs import CLANG, EVERY, FULL, INSTALLED, OTHERS, PACKAGED
from outcomes import Outcome
from places import TESTS


def sources(folder: Path) -> list[Path]:
    """Return the programs of a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in CLANG)


def is_error(figure: Path) -> bool:
    """Return whether a figure's program breaks a rule on purpose."""
    return figure.stem.endswith("_error")


SOURCES, BOOK = TESTS / "programs" / "openmp", TESTS / "programs" / "book"
# Programs that break a rule of OpenMP; test_messages.py compares how they end.
FATAL = ("absent", "bad_device", "extension")
SOUND = [path for path in sources(SOURCES) if path.stem not in FATAL]

FIGURES = sources(BOOK)
PROGRAMS = [*SOUND, *FIGURES]

# Programs that no clang compiles, with clang's error.
REFUSED = {
    "fig_6_12_stride": "expected ']'",
    "fig_6_51_sections": "multiple array elements associated with the same variable are not "
    "allowed in map clauses of the same construct",
    "fig_6_61_array": "expected pointer or reference to pointer in 'use_device_ptr' clause",
}
# Message, like LLVM's, about an object that a figure maps twice in different sizes.
GROWN = """\
omptarget message: explicit extension not allowed: host address specified is 0x… (8 bytes), but \
device allocation maps to host at 0x… (4 bytes)
omptarget error: Call to getTargetPointer returned null pointer (device failure or illegal mapping).
omptarget error: Call to targetDataBegin failed, abort target.
omptarget error: Failed to process data before launching the kernel.
omptarget error: Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.
omptarget error: Source location information not present. Compile with -g or -gline-tables-only.
omptarget fatal error 1: failure of target construct while offloading is mandatory
"""
# Outcomes of the figures with an error; all others print "ok".
ERRORS = {
    "fig_6_08_error": Outcome(stdout="the region wrote to memory of the host\n"),
    "fig_6_09_error": Outcome(stdout="the host wrote to memory of the device\n"),
    "fig_6_39_error": Outcome(stdout="the region looked for a member where none is mapped\n"),
    "fig_6_39_grown_error": Outcome(returncode=-6, stderr=GROWN),
    "fig_6_42_error": Outcome(stdout="what the region wrote is lost\n"),
}
# Programs that need memory shared by a worker and the program, which does not exist.
APART = "memory", "routines"
NO_MEMORY = """\
omptarget: device 0 (mpi) gives the program no memory that both use (a worker's devices share no \
memory with the program)
"""


def expected(program: Path, *, has_workers: bool = False) -> Outcome:
    """Return how the program ends, whatever built it."""
    if program.stem in REFUSED:
        return Outcome(refusal=REFUSED[program.stem])
    if has_workers and program.stem in APART:
        return Outcome(stdout="ok\n", stderr=NO_MEMORY)
    return ERRORS.get(program.stem, Outcome(stdout="ok\n"))


def builds(program: Path) -> list[Build]:
    """Return the builds of a program: for a feature by each clang, the ways in turn."""
    if program in SOUND:
        return in_turn(SOUND.index(program), EVERY)
    return [Build(version) for version in FULL]


def chosen(program: Path) -> list[Build]:
    """Return those of `make test`: a feature is for 19 and three in turn, a figure for two."""
    turn = PROGRAMS.index(program)
    clangs = two_clangs(turn)
    if program in SOUND:
        packaged = sorted(PACKAGED)[turn % len(PACKAGED)]
        clangs = {INSTALLED, *two_clangs(turn, OTHERS), packaged}
    return [build for build in builds(program) if build.version in clangs]


def cases(programs: Sequence[Path]) -> list[Any]:
    """Return programs with their builds: in `make test` those chosen, in `make test-all` all."""
    return [
        pytest.param(
            program,
            build,
            marks=() if build in chosen(program) else pytest.mark.exhaustive,
            id=f"{program.stem}-{build}",
        )
        for program in programs
        for build in builds(program)
    ]


def source(name: str) -> Path:
    """Return where program `name` is."""
    (path,) = (path for path in SOURCES.glob(f"{name}.*"))
    return path

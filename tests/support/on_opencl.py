# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's OpenMP programs for OpenCL devices: how the tests build them, and what SPIR-V lacks."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clangs import CLANG, UNPACKED_SNAPSHOTS, tool
from fixture_programs import OMPTOOL
from outcomes import Outcome
from places import TESTS
from whole_programs import PROGRAMS, expected, sources

TRIPLE = "spirv64-intel"
# Clang supports the triple since release 22.
VERSIONS = ("22", "23", *UNPACKED_SNAPSHOTS)
WAYS = ("cc", "link")
LEVELS = ("-O0", "-O1", "-O2")
FOR_DEVICES = ("-fopenmp", f"-fopenmp-targets={TRIPLE}", "-fopenmp-extensions")
# Spellings of long double, which no GPU has.
WITHOUT_LONG_DOUBLE = ("-DWIDE=double",)
# Messages of clang or `omptool link` about programs that have no code for OpenCL, and the exit
# code. Clang 23 and later write an attribute of destructors that LLVM 22 cannot read.
GAPS = {
    "classes": (("calls a function by its address", 1), ("Not an int attribute", 2)),
    "fig_6_09_error": (("uses malloc, which nothing defines for OpenCL devices", 1),),
    "regions": (("'wide' requires 128 bit size '__int128' type support", 1),),
}
# Line that Intel's driver prints when a program aborts.
_DRIVERS = re.compile(r"^PLEASE submit a bug report .*\n", re.MULTILINE)
SAMPLED = 9  # `make test` runs one of this many programs
OWN = sources(TESTS / "programs" / "opencl")


@dataclass(frozen=True)
class Build:
    """A compiler, the linker of device code, and the optimisation level."""

    version: str
    way: str
    level: str

    def __str__(self) -> str:
        return f"{self.version}-{self.way}{self.level}"


BUILDS = [Build(version, way, level) for version in VERSIONS for way in WAYS for level in LEVELS]


def cases(programs: Sequence[Path] = PROGRAMS, every: int = SAMPLED) -> list[Any]:
    """Return programs with their builds; sample one of every `every` programs, with one build."""
    found = []
    for turn, program in enumerate(programs):
        sampled = BUILDS[(turn // every * 5) % len(BUILDS)] if turn % every == 0 else None
        found += [
            pytest.param(
                program,
                build,
                marks=() if build == sampled else pytest.mark.exhaustive,
                id=f"{program.stem}-{build}",
            )
            for build in BUILDS
        ]
    return found


def built(build: Build, source: Path, program: Path) -> subprocess.CompletedProcess[str]:
    """Build a program; return the result of the last command."""
    clang = tool(build.version, "clang++" if source.suffix == ".cpp" else "clang")
    flags = [build.level, "-w", *WITHOUT_LONG_DOUBLE]
    if build.way == "cc":
        words = ["--cc", shlex.join(clang), "--triple", TRIPLE, *flags]
        linking = ["-fuse-ld=lld", *_libomp()]
        return _run(
            OMPTOOL, "cc", *words, "-fopenmp-extensions", source, "-o", program, *linking, "-lm"
        )
    made = program.with_suffix(".o")
    correct = ["-mllvm", "-openmp-opt-disable"] if build.version == "22" else []
    words = [*FOR_DEVICES, *correct, "-foffload-lto", "-nogpulib"]
    done = _run(*clang, *flags, *words, "-c", source, "-o", made)
    if done.returncode:
        return done
    return _run(OMPTOOL, "link", "--", CLANG[source.suffix], "-fopenmp", made, "-o", program, "-lm")


def _libomp() -> list[str]:
    return ["-L/usr/lib/llvm-19/lib", "-Wl,-rpath,/usr/lib/llvm-19/lib"]


def _run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def wanted(program: Path) -> Outcome:
    """Return the expected outcome of a built program."""
    return Outcome(stdout="ok\n") if program in OWN else expected(program)


def without_driver(outcome: Outcome) -> Outcome:
    """Return the outcome without the driver's own lines."""
    return Outcome(
        outcome.refusal, outcome.returncode, outcome.stdout, _DRIVERS.sub("", outcome.stderr)
    )

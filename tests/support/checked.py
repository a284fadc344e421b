# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs under the checker, as `omptool run --check` starts them, without a Python for each."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import running
from builds import device_library
from clangs import INSTALLED, compiled, compiler, made, own_library
from outcomes import RACING, Programs
from places import TESTS
from whole_programs import PROGRAMS, REFUSED, chosen, is_error, sources

from omptool.probes import launching
from omptool.probes.reports import finding_report
from packager.files.reader import open_reader
from packager.machine.run_check.check_codes import CODES
from packager.machine.run_check.check_places import with_lines
from packager.machine.run_check.check_run import CheckFinding

# Last line about a program without regions.
SAW_NOTHING = "the checker saw nothing: the program asked nothing of omptool's runtime\n"
# Programs without errors, and arguments that shorten them.
LEGAL = [
    *(one for one in PROGRAMS if not is_error(one) and one.stem not in REFUSED),
    *sources(TESTS / "programs" / "applications"),
]
ARGUMENTS = {"nbody": (60, 5), "stencil": (20, 70, 11), "stream": (30_000, 3)}
# Names of builds: one that other tests of `make test` use, and those of each clang in `make
# test-all`.
BUILT_ANYWAY = "built-anyway"


def legal_by(clangs: Iterable[str]) -> list[Any]:
    """Return the builds of legal programs, for tests of each."""
    return [BUILT_ANYWAY, *(pytest.param(one, marks=pytest.mark.exhaustive) for one in clangs)]


# Marks a line with an expected finding: "OMP303", "OMP315 9 times".
MARK = re.compile(r"/\* (OMP3\d\d)(?: (\d+) times)?")


def with_debug_information(version: str, source: Path, into: Path) -> Path:
    """Compile a program with debug information."""
    if version == INSTALLED:
        return compiled(source, into, "-g", "-O1", "-lm")
    flags = [*compiler(version, source), *device_library(version), *own_library(version)]
    flags += ["-g", "-lm"]
    return made(into / source.stem, *flags, source)


def legal(programs: Programs, version: str, source: Path, into: Path) -> Path:
    """Return a program that breaks no rule: by a clang, or one that other tests build anyway."""
    if version != BUILT_ANYWAY:
        return with_debug_information(version, source, into)
    if source not in PROGRAMS:
        return with_debug_information(INSTALLED, source, into)
    found = [build for build in chosen(source) if build.version != RACING]
    return programs.path(found[PROGRAMS.index(source) % len(found)], source)


def checked(
    program: Path, *arguments: object, level: str = "events", **environment: str
) -> tuple[list[CheckFinding], subprocess.CompletedProcess[str]]:
    """Run `program`; return the checker's findings with lines, and the end of the program."""
    with finding_report.made(level) as report, open_reader(program) as data:
        done = subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=running.PATIENCE,
            env=launching.on_the_runtime(program, data, os.environ | environment, is_checked=True)
            | {finding_report.VARIABLE: report.path},
        )
        recorded = report.recorded()
    assert recorded.is_whole
    return list(with_lines(recorded.findings, program, str(program))), done


def errors(found: Iterable[CheckFinding]) -> list[CheckFinding]:
    """Return those that OpenMP forbids."""
    return [one for one in found if CODES[one.code].severity == "error"]


def lines(found: Iterable[CheckFinding]) -> set[tuple[str, int | None, int]]:
    """Return code, line and count of each."""
    return {(one.code, one.place.line if one.place else None, one.times) for one in found}


def marked(source: Path) -> set[tuple[str, int | None, int]]:
    """Return the findings that the program's comments announce."""
    marks = {
        number: MARK.search(line) for number, line in enumerate(source.read_text().split("\n"), 1)
    }
    return {
        (mark[1], number, int(mark[2] or 1)) for number, mark in marks.items() if mark is not None
    }

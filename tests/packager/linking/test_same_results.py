# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs linked by omptool end on LLVM's own runtime, and on ours, as clang's own links do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from clangs import FULL, compiler, libraries, own_runtime
from fixture_programs import OMPTOOL
from outcomes import RACING, WAITS
from places import TESTS
from running import PATIENCE, run
from whole_programs import FIGURES, REFUSED, SOUND

APPLICATIONS = sorted((TESTS / "programs" / "applications").glob("*.c"))
# LLVM's runtime copies before what it is to wait for, now and then: however it is linked, this ends
# in one of two ways there.
RACY = "memory"
SOUND_THERE = [path for path in SOUND if path.stem != RACY]
PROGRAMS = [*SOUND_THERE, *(p for p in FIGURES if p.stem not in REFUSED), *APPLICATIONS]
# Programs that crash on Intel's build of LLVM 23, however they are linked.
FAULTY = ("classes", "mappers")
# One of sixteen in each run, each clang in its turn; `make test-all` has all.
SAMPLE = 16
DEVICES = {"OMP_TARGET_OFFLOAD": "MANDATORY", "OMPTOOL_PLUGINS": "host"}
# Few of the programs are about speed.
SMALL = {"stream": ("30000", "3"), "stencil": ("20", "70", "11"), "nbody": ("60", "5")}
LIMITED = {"KMP_TEAMS_THREAD_LIMIT": "64", "OMP_NUM_THREADS": "2"}


def left_out(program: Path, version: str) -> bool:
    if version == "23":
        return program.stem in FAULTY
    # Libomp 16 now and then ends a program that waits for dependences, however it is linked.
    return version == RACING and bool(WAITS.search(program.read_text()))


def cases() -> list[object]:
    return [
        pytest.param(program, version, id=f"{program.stem}-{version}",
                     marks=() if row % SAMPLE == 3 * column else pytest.mark.exhaustive)
        for row, program in enumerate(PROGRAMS)
        for column, version in enumerate(FULL)
        if not left_out(program, version)
    ]  # fmt: skip


def ended(program: Path, search: str, source: Path) -> tuple[int, str]:
    """Return how a program ends on LLVM's runtime, without lines of speeds."""
    arguments = SMALL.get(source.stem, ())
    environment = os.environ | DEVICES | LIMITED | {"LD_LIBRARY_PATH": search}
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, env=environment,
        timeout=PATIENCE,
    )  # fmt: skip
    return done.returncode, _without_speed(done.stdout)


def _without_speed(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if "/s " not in line)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "version"), cases())
def test_a_program_ends_as_clangs_own(source: Path, version: str, tmp_path: Path) -> None:
    command = compiler(version, source)
    built, theirs, ours = tmp_path / "program.o", tmp_path / "theirs", tmp_path / "ours"
    quiet = "-Wno-unused-command-line-argument"
    subprocess.run(
        [*command, quiet, source, "-c", "-o", built], check=True, stderr=subprocess.DEVNULL
    )
    subprocess.run([*command, built, "-lm", "-o", theirs], check=True, stderr=subprocess.DEVNULL)
    # Two functions are in both libraries: the order is that of clang's driver.
    words = [*command, str(built), "-lm", "-lomp", "-lomptarget", "-o", str(ours)]
    done = subprocess.run(
        [OMPTOOL, "link", "--", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    search = own_runtime(version)
    expected, found = ended(theirs, search, source), ended(ours, search, source)
    assert found == expected
    arguments = SMALL.get(source.stem, ())
    environment = DEVICES | LIMITED | {"LD_LIBRARY_PATH": libraries(version)}
    on_ours = [run(path, *arguments, **environment) for path in (theirs, ours)]
    assert _without_speed(on_ours[0].stdout) == _without_speed(on_ours[1].stdout)
    assert on_ours[0].returncode == on_ours[1].returncode

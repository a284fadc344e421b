"""The applications of tests/applications give the results that they give on LLVM's own runtime.

Each compares the device's results with the host's itself, too. bench/applications.py has their
speed.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from clangs import compiler, libraries, made, stem
from fixture_programs import OMPTOOL
from places import TESTS

pytestmark = pytest.mark.offloads

SOURCES = sorted((TESTS / "applications").glob("*.c"))
STRICT = ("-O2", "-Wall", "-Wextra", "-Werror")
SMALL = {"stream": (30_000, 3), "stencil": (20, 70, 11), "nbody": (60, 5)}


def results(command: list[str], arguments: tuple[int, ...], **environment: str) -> list[str]:
    """The lines of an application that tell no speed; its failure shows what it said."""
    done = subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"OMP_NUM_THREADS": "2"} | environment,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return [line for line in done.stdout.splitlines() if "/s " not in line]


@pytest.mark.parametrize("version", ["19", "22"])
@pytest.mark.parametrize("source", SOURCES, ids=stem)
def test_the_results_are_those_on_llvm(tmp_path: Path, source: Path, version: str) -> None:
    program = tmp_path / source.stem
    made(program, *compiler(version, source), *STRICT, source, "-lm")
    ours = results([OMPTOOL, "run", "--mandatory", str(program)], SMALL[source.stem])
    llvm = results(
        [str(program)],
        SMALL[source.stem],
        LD_LIBRARY_PATH=libraries(version),
        OMP_TARGET_OFFLOAD="MANDATORY",
    )
    assert ours == llvm
    assert ours


@pytest.mark.parametrize("source", SOURCES, ids=stem)
def test_a_wrong_size_is_named(tmp_path: Path, source: Path) -> None:
    program = tmp_path / source.stem
    made(program, *compiler("19", source), source, "-lm")
    done = subprocess.run(
        [OMPTOOL, "run", str(program), "0"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("not a positive number: 0\n")

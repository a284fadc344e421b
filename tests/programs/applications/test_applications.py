# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The applications have the same results as on LLVM's own runtime.

Each also compares the device's results with the host's. bench/applications.py has their speed.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import running
from builds import SWEEP, WAYS, Build, built
from clangs import compiler, made, own_runtime, run, stem
from places import TESTS

pytestmark = pytest.mark.offloads

SOURCES = sorted((TESTS / "programs" / "applications").glob("*.c"))
STRICT = ("-Wall", "-Wextra", "-Werror")
SMALL = {"stream": (30_000, 3), "stencil": (20, 70, 11), "nbody": (60, 5)}


THREADS = {"OMP_NUM_THREADS": "2"}


def results(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return an application's lines of output that have no speed; check that it succeeded."""
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return [line for line in done.stdout.splitlines() if "/s " not in line]


# `make test` builds each by two clangs' wrappers, and by clang 23, whose ways take turns.
ON_LLVM = [Build(version, level="-O2") for version in ("19", "22")]
CASES = [
    pytest.param(
        source,
        build,
        marks=() if build in (*ON_LLVM, Build("23", WAYS[at], "-O2")) else pytest.mark.exhaustive,
        id=f"{source.stem}-{build}",
    )
    for at, source in enumerate(SOURCES)
    for build in SWEEP
]


def on_ours(program: Path, name: str) -> list[str]:
    return results(run(program, *SMALL[name], **THREADS))


def on_llvm(program: Path, name: str, version: str) -> list[str]:
    environment = THREADS | running.MANDATORY | {"LD_LIBRARY_PATH": own_runtime(version)}
    return results(
        subprocess.run(
            [program, *map(str, SMALL[name])],
            capture_output=True,
            text=True,
            check=False,
            timeout=running.PATIENCE,
            env=os.environ | environment,
        )
    )


@pytest.mark.parametrize(("source", "build"), CASES)
def test_the_results_are_those_on_llvm(tmp_path: Path, source: Path, build: Build) -> None:
    """Results on LLVM's runtime come from clang 22 or 23, whatever builds the application."""
    program = built(build, tmp_path / "ours", source, *STRICT, "-lm")
    ours = on_ours(program, source.stem)
    by = build.version if build in ON_LLVM or build.version == "23" else "22"
    theirs = built(Build(by, level="-O2"), tmp_path / "llvms", source, *STRICT, "-lm")
    assert ours == on_llvm(theirs, source.stem, by)
    assert ours


@pytest.mark.parametrize("source", SOURCES, ids=stem)
def test_a_wrong_size_is_named(tmp_path: Path, source: Path) -> None:
    program = tmp_path / source.stem
    made(program, *compiler("19", source), source, "-lm")
    done = run(program, "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("not a positive number: 0\n")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyOMP's programs and its own tests on the runtime, in place of PyOMP's."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from pyomp import python
from running import on_the_runtime

pytestmark = pytest.mark.offloads

PROGRAMS = Path(__file__).parent / "programs"
SUITE = ("-m", "unittest", "numba.openmp.tests.test_openmp.TestOpenmpTarget")
PATIENCE = 1200  # seconds, on a loaded machine


def run(
    *arguments: object, ours: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run PyOMP's Python, on omptool's runtime or on its own."""
    program = python()
    everything: Mapping[str, str] = os.environ | environment
    return subprocess.run(
        [program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=on_the_runtime(program, everything) if ours else everything,
    )


@pytest.mark.parametrize("program", ["saxpy", "data", "kernels"])
def test_programs_run_on_the_device(program: str) -> None:
    done = run(PROGRAMS / f"{program}.py", OMP_TARGET_OFFLOAD="MANDATORY")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class Suite(NamedTuple):
    """The results of PyOMP's own tests."""

    ran: int
    skipped: int
    failed: frozenset[str]


def suite(*, ours: bool) -> Suite:
    done = run(*SUITE, ours=ours, TEST_DEVICE="host", RUN_TARGET="1")
    ran = re.search(r"^Ran (\d+) tests", done.stderr, re.MULTILINE)
    assert ran, done.stderr[-2000:]
    skipped = re.search(r"skipped=(\d+)", done.stderr)
    failed = re.findall(r"^(?:FAIL|ERROR): (\w+)", done.stderr, re.MULTILINE)
    return Suite(int(ran[1]), int(skipped[1]) if skipped else 0, frozenset(failed))


@pytest.mark.exhaustive
def test_its_own_tests_pass_as_on_its_own_runtime() -> None:
    ours, own = suite(ours=True), suite(ours=False)
    assert (ours.ran, ours.skipped) == (own.ran, own.skipped) == (72, 4)
    assert ours.failed <= own.failed
    # libomp makes at most as many teams as it has threads.
    assert own.failed <= {"test_target_teams_distribute_set_num_teams"}


@pytest.mark.exhaustive
def test_an_image_leaves_no_more_than_on_its_own_runtime() -> None:
    """PyOMP keeps compiled code, and unregisters it when the program ends."""
    grown = {}
    for ours in (True, False):
        done = run(PROGRAMS / "images.py", 40, ours=ours)
        assert (done.returncode, done.stderr) == (0, "")
        grown[ours] = [float(number) for number in done.stdout.split()]
    (memory, descriptors), (own_memory, _) = grown[True], grown[False]
    assert descriptors == 0
    assert memory < 1.2 * own_memory

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constructs with `nowait` overlap, keep their order, and end."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

import mpis
import pytest
from builds import Build, built, each
from clangs import run, runtime
from whole_programs import SOURCES

pytestmark = pytest.mark.offloads

SOURCE = SOURCES / "linked" / "nowait.c"
THREADS = SOURCES / "linked" / "nowait_threads.cpp"
# Number of libomp's threads for such tasks, 8 by default, of which the first runs none.
HELPERS = "LIBOMP_NUM_HIDDEN_HELPER_THREADS"
DEVICES = {"OMPTOOL_HOST_DEVICES": "4"}
ROUNDS, OVER_WORKERS = 128, 32  # MPI polls, and three processes start


# Clang 14's calls have no flag for nowait, so regions run one by one.
@pytest.mark.parametrize("build", [one for one in each(turn=0) if one.values[0].version != "14"])
def test_each_region_ends_when_all_have_begun(build: Build, tmp_path: Path) -> None:
    done = run(built(build, tmp_path / "main", SOURCE), 7)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    done = run(built(build, tmp_path / "main", SOURCE), 16, **{HELPERS: "16"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def test_tasks_end_with_intels_libomp(tmp_path: Path) -> None:
    program = built(Build("23"), tmp_path / "main", SOURCES / "tasks.c")
    done = run(program, LD_LIBRARY_PATH=str(runtime("23")))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


RUNS = [
    pytest.param(8, id="8-runs", marks=pytest.mark.repeated),
    pytest.param(300, id="300-runs", marks=[pytest.mark.exhaustive, pytest.mark.repeated]),
]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(
    ("threads", "kind"),
    [
        (16, "chains"),
        (16, "data"),
        (16, "free"),
        (4, "chains"),
        pytest.param(2, "chains", marks=pytest.mark.sampled),
        (1, "chains"),
        (8, "single"),
    ],
)
def test_tasks_of_several_threads_end(
    threads: int, kind: str, runs: int, way: Mapping[str, str], tmp_path: Path
) -> None:
    program = built(Build("19"), tmp_path / "main", THREADS)
    rounds = OVER_WORKERS if mpis.VARIABLE in way else ROUNDS

    def once(_: int) -> CompletedProcess[str]:
        return run(program, threads, kind, rounds, **DEVICES)

    with ThreadPoolExecutor(4) as at_once:  # on a busy machine threads wait in more places
        for done in at_once.map(once, range(runs)):
            assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")

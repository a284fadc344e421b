# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The thread that runs the kernel of a task (`nowait`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from builds import Build, built
from clangs import run

pytestmark = pytest.mark.offloads


def test_a_long_kernel_of_a_task_gets_all_threads(tmp_path: Path) -> None:
    """libomp's thread for tasks gives it one thread. A long kernel gets a thread of the core."""
    program = built(Build("19"), tmp_path / "main", Path(__file__).with_name("nowait_long.c"))
    for microseconds, seen, asked in (
        (3000, "1 3", {}),
        (0, "1 1", {}),
        (3000, "1 1", {"LIBOMPTARGET_INFO": "32"}),  # a log is of one thread
    ):
        done = run(program, microseconds, OMP_NUM_THREADS="3", **asked)
        assert (done.returncode, done.stdout) == (0, f"{seen}\n")

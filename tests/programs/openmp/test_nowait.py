# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions with `nowait` overlap, also more of them than libomp has threads for tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from builds import Build, built, each
from clangs import run, runtime
from whole_programs import SOURCES

pytestmark = pytest.mark.offloads

SOURCE = SOURCES / "linked" / "nowait.c"


# libomp has eight such threads; clang 14 knows no other way.
@pytest.mark.parametrize("build", [one for one in each(turn=0) if one.values[0].version != "14"])
def test_each_region_ends_when_all_have_begun(build: Build, tmp_path: Path) -> None:
    done = run(built(build, tmp_path / "main", SOURCE))
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def test_tasks_end_with_intels_libomp(tmp_path: Path) -> None:
    """It takes a handle for what goes on after a call, and never asks about it as LLVM's does."""
    program = built(Build("23"), tmp_path / "main", SOURCES / "tasks.c")
    done = run(program, LD_LIBRARY_PATH=str(runtime("23")))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")

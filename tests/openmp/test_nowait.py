"""Regions with `nowait` overlap, also more of them than libomp has threads for tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from clangs import VERSIONS, compiler, made, run
from whole_programs import SOURCES

pytestmark = pytest.mark.offloads

SOURCE = SOURCES / "linked" / "nowait.c"


# libomp has eight such threads; clang 14 knows no other way.
@pytest.mark.parametrize("version", [version for version in VERSIONS if version != "14"])
def test_each_region_ends_when_all_have_begun(version: str, tmp_path: Path) -> None:
    program = tmp_path / "main"
    made(program, *compiler(version, SOURCE), SOURCE)
    done = run(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")

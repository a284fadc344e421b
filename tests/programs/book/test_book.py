# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of the heterogeneous-architectures chapter (tests/programs/book), by every clang."""

from __future__ import annotations

from pathlib import Path

import book_table
import pytest
from builds import Build, built, each
from clangs import run, stem
from outcomes import Programs
from whole_programs import BOOK, FIGURES, cases, expected

pytestmark = pytest.mark.offloads


@pytest.mark.parametrize(("program", "build"), cases(FIGURES))
def test_it_ends_as_told(programs: Programs, program: Path, build: Build) -> None:
    """A program runs on the device, shows the figure's error, or is refused by clang."""
    assert programs.outcome(build, program) == expected(program)


@pytest.mark.parametrize("build", each(turn=0))
@pytest.mark.parametrize("name", ["fig_6_58", "fig_6_60"])
def test_every_device_gets_its_share(tmp_path: Path, name: str, build: Build) -> None:
    program = built(build, tmp_path / name, BOOK / f"{name}.c")
    done = run(program, OMPTOOL_HOST_DEVICES="3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_every_figure_has_a_program_or_needs_none() -> None:
    shown = {number for path in FIGURES for number in book_table.numbers(path)}
    without = {*book_table.DRAWINGS, *book_table.SYNTAX, *book_table.OUTPUT}
    assert shown | without == set(book_table.NUMBERS)


@pytest.mark.parametrize("path", FIGURES, ids=stem)
def test_a_program_is_named_after_its_figure(path: Path) -> None:
    assert int(path.stem.split("_")[2]) in book_table.numbers(path)


def test_the_tables_say_what_is_expected() -> None:
    """Each outcome is tested, here and in test_every_build.py."""
    for file, table in book_table.tables(lambda _build, program: expected(program)).items():
        stale = f"{file.name} is out of date: python tests/support/book_table.py --write"
        assert file.read_text() == book_table.written(file, table), stale

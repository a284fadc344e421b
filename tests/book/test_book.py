"""The examples of the heterogeneous-architectures chapter (tests/book), by every clang."""

from __future__ import annotations

from pathlib import Path

import book_table
import pytest
from clangs import VERSIONS, compiled_by, run, stem
from outcomes import Outcome, Programs
from whole_programs import BOOK, FIGURES, REFUSED, SOUND, is_error

pytestmark = pytest.mark.offloads

# The figures that show an error, and how they end here.
ERRORS = {
    "fig_6_08_error": Outcome(stdout="the region wrote to memory of the host\n"),
    "fig_6_09_error": Outcome(stdout="the host wrote to memory of the device\n"),
    "fig_6_39_error": Outcome(stdout="the region looked for a member where none is mapped\n"),
    "fig_6_42_error": Outcome(stdout="what the region wrote is lost\n"),
}
GROWN = BOOK / "fig_6_39_grown_error.c"


def only(names: dict[str, str] | dict[str, Outcome]) -> list[Path]:
    """The figures with these names."""
    return [path for path in FIGURES if path.stem in names]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "program",
    [path for path in FIGURES if path.stem not in REFUSED and not is_error(path)],
    ids=stem,
)
def test_it_runs_on_the_device(programs: Programs, program: Path, version: str) -> None:
    assert programs.outcome(version, program).ran, programs.outcome(version, program)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", only(REFUSED), ids=stem)
def test_clang_says_what_it_does_not_accept(
    programs: Programs, program: Path, version: str
) -> None:
    assert programs.outcome(version, program) == Outcome(refusal=REFUSED[program.stem])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", only(ERRORS), ids=stem)
def test_an_error_ends_as_told(programs: Programs, program: Path, version: str) -> None:
    assert programs.outcome(version, program) == ERRORS[program.stem]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", [GROWN], ids=stem)
def test_a_mapping_that_grows_is_fatal(programs: Programs, program: Path, version: str) -> None:
    done = programs.outcome(version, program)
    assert (done.returncode, done.stdout) == (-6, "")
    assert "explicit extension not allowed: host address specified is 0x" in done.stderr
    assert "(8 bytes), but device allocation maps to host at 0x" in done.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["fig_6_58", "fig_6_60"])
def test_every_device_gets_its_share(tmp_path: Path, name: str, version: str) -> None:
    program = compiled_by(version, BOOK / f"{name}.c", tmp_path)
    done = run(program, OMPTOOL_HOST_DEVICES="3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_every_figure_has_a_program_or_needs_none() -> None:
    shown = {number for path in FIGURES for number in book_table.numbers(path)}
    without = {*book_table.DRAWINGS, *book_table.SYNTAX, *book_table.OUTPUT}
    assert shown | without == set(book_table.FIGURES)


@pytest.mark.parametrize("path", FIGURES, ids=stem)
def test_a_program_is_named_after_its_figure(path: Path) -> None:
    assert int(path.stem.split("_")[2]) in book_table.numbers(path)


def test_the_tables_say_what_really_runs(programs: Programs) -> None:
    figures = book_table.found(programs, FIGURES)
    others = book_table.found(programs, SOUND)
    for file, table in (
        (book_table.RUNTIME, book_table.summary(figures, others)),
        (BOOK / "README.md", book_table.details(figures)),
    ):
        stale = f"{file.name} is out of date: python tests/support/book_table.py --write"
        assert file.read_text() == book_table.written(file, table), stale
